#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The AFP target on a real server: what every target must do alike, then what only this one does.
. "$(dirname "$0")/../harness/common.sh"
export tests=$FSR_BUILD/tests/integration

"$FSR_SOURCE/tests/servers/netatalk" bash -c '
  failed=0
  install -d -o "$(stat -c %u "$AFP_DIR")" "$AFP_DIR/clear"
  "$tests/target_conformance" "$AFP_URL?version=3.4" || failed=1
  "$tests/target_conformance" "$AFP_URL/clear?uam=cleartxt&version=3.2" || failed=1
  "$FSR_SOURCE/tests/integration/harness/wire_lines" "$AFP_URL" FPGetFileDirParms || failed=1
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/afp_target_test" || failed=1
  exit $failed' || failures_=1
