#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The NFSv3 target on a real server: what every target must do alike, then what only this one does.
. "$(dirname "$0")/common.sh"
export tests=$FSR_BUILD/tests/integration

"$FSR_SOURCE/tests/servers/ganesha" bash -c '
  failed=0
  mkdir "$NFS_VFS_DIR/small" "$NFS_VFS_DIR/conformance"
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/conformance}" --privileged || failed=1
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/small}&rsize=4096&wsize=4096" || failed=1
  "$FSR_SOURCE/tests/integration/catch_cases.sh" "$tests/nfs_target_test" || failed=1
  exit $failed' || failures_=1
