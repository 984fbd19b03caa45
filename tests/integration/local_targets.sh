#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the targets that need no server, `file:` also with few descriptors.
. "$(dirname "$0")/common.sh"
suite=$FSR_BUILD/tests/integration/target_conformance

run() {  # NAME COMMAND...
  local name=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  grep -E '^(ok|not ok) - ' <<<"$output" | sed "s/ - / - $name: /"
  [ $status = 0 ] || not_ok "$name" "ended with $status: $(tail -n 3 <<<"$output" | tr '\n' '|')"
}

run memory "$suite" memory:
run file "$suite" "file:$scratch/file"
run 'file, privileged' "$suite" "file:$scratch/privileged" --privileged
run 'file, 128 descriptors' bash -c 'ulimit -n 128 && exec "$0" "$1"' "$suite" "$scratch/few"
