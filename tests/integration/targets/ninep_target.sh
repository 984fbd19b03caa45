#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The 9P target on a real server: what every target must do alike, then what only this one does.
. "$(dirname "$0")/../harness/common.sh"
export tests=$FSR_BUILD/tests/integration

"$FSR_SOURCE/tests/servers/diod" bash -c '
  failed=0
  mkdir "$P9_DIR/small" "$P9_DIR/local" "$P9_DIR/clients"
  "$tests/target_conformance" "$P9_URL/small&msize=8192&dialect=9p2000.L" || failed=1
  "$tests/target_conformance" "$P9_UNIX_URL/local" --privileged || failed=1
  # diod has one lock for a whole file, so that owners at two clients exclude each other.
  "$tests/target_conformance" "$P9_URL/clients&clients=3" --without "record locks" || failed=1
  "$FSR_SOURCE/tests/integration/harness/wire_lines" "$P9_URL" Tgetattr || failed=1
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/ninep_target_test" || failed=1
  "$FSR_SOURCE/tests/integration/targets/ninep_reordered.py" "$tests/ninep_target_test" || failed=1
  exit $failed' || failures_=1
check_status "a tree that is named by path and by aname= is refused" 2 'the tree is named twice' \
  fsreplay target stat '9p://127.0.0.1:1/a?aname=/b' .
