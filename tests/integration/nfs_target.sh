#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The NFSv3 target on a real server: what every target must do alike, then what only this one does.
. "$(dirname "$0")/common.sh"
export tests=$FSR_BUILD/tests/integration
export -f traced

"$FSR_SOURCE/tests/servers/ganesha" bash -c '
  failed=0
  mkdir "$NFS_VFS_DIR/small" "$NFS_VFS_DIR/conformance"
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/conformance}" --privileged || failed=1
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/small}&rsize=4096&wsize=4096" || failed=1
  mkdir "$NFS_VFS_DIR/several"
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/several}&nconnect=4" || failed=1
  connections() {  # to the port of NFS, of one session
    traced connects connect fsreplay target stat "$NFS_VFS_URL&nconnect=$1" >/dev/null || return 1
    grep -c "htons($NFS_PORT)" connects
  }
  one=$(connections 1) four=$(connections 4)
  if [ -n "$one" ] && [ "$((four - one))" = 3 ]; then
    echo "ok - nconnect=4 makes three connections more than nconnect=1"
  else
    echo "not ok - nconnect=4 makes three connections more than nconnect=1: $one, $four"
    failed=1
  fi
  for bad in 0 17 x; do
    if fsreplay target stat "$NFS_VFS_URL&nconnect=$bad" 2>&1 | grep -q "^fsreplay: .*nconnect"; then
      echo "ok - nconnect=$bad is refused"
    else
      echo "not ok - nconnect=$bad is refused: no such message"
      failed=1
    fi
  done
  "$FSR_SOURCE/tests/integration/catch_cases.sh" "$tests/nfs_target_test" || failed=1
  exit $failed' || failures_=1
