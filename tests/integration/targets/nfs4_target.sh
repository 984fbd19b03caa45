#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The NFSv4.1 and 4.2 target on a real server: what every target must do alike, then what only this one does, restarts included:
# of a server that remembers nothing, and of one that lets its clients reclaim.
. "$(dirname "$0")/../harness/common.sh"
export tests=$FSR_BUILD/tests/integration
export -f traced

# The server accepts only ports below 1024, as exports of Linux do by default.
NFS_PRIVILEGED_PORT=true "$FSR_SOURCE/tests/servers/ganesha" bash -c '
  failed=0
  mkdir "$NFS_VFS_DIR/small" "$NFS_VFS_DIR/conformance"
  "$tests/target_conformance" "${NFS4_VFS_URL/vfs/vfs/conformance}" --privileged || failed=1
  small=${NFS4_VFS_URL/vfs/vfs/small}
  "$tests/target_conformance" "${small/4.1/4.2}&rsize=4096&wsize=4096" || failed=1
  mkdir "$NFS_VFS_DIR/several"
  "$tests/target_conformance" "${NFS4_VFS_URL/vfs/vfs/several}&nconnect=4" || failed=1
  mkdir "$NFS_VFS_DIR/clients"
  "$tests/target_conformance" "${NFS4_VFS_URL/vfs/vfs/clients}&clients=3" || failed=1
  four=$(traced connects connect fsreplay target stat "$NFS4_VFS_URL&nconnect=4" >/dev/null; grep -c "htons($NFS_PORT)" connects)
  if [ "$four" = 4 ]; then
    echo "ok - nconnect=4 makes four connections"
  else
    echo "not ok - nconnect=4 makes four connections: $four"
    failed=1
  fi
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/nfs4_target_test" || failed=1
  exit $failed' || failures_=1
NFS_GRACE=1 "$FSR_SOURCE/tests/servers/ganesha" \
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/nfs4_target_test" '[grace]' || failures_=1

refused() { check_status "$1: one line, status 2" 2 "$2" "${@:3}"; }
url='nfs://127.0.0.1:12049/vfs?version=4.1'
refused 'a server of another version' '^fsreplay: nfs: 127.0.0.1:12049: NFS version 4.1: the server does not speak version 4.1$' \
  env NFS_MINORS=0 "$FSR_SOURCE/tests/servers/ganesha" fsreplay target stat "$url"
refused 'no such export' "'/none': no such export" "$FSR_SOURCE/tests/servers/ganesha" fsreplay target stat "${url/vfs/none}"
refused 'no server' '^fsreplay: nfs: 127.0.0.1:9: NFS version 4.1: Connection refused$' fsreplay target stat "${url/12049/9}"
