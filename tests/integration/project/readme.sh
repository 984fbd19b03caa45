#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The README's five minutes run; and again, as a user would.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/readme_steps.sh"

steps=$(readme_steps)
check 'there are steps' test "$(wc -l <<<"$steps")" -ge 10
export TMPDIR=$scratch
for time in first second; do
  if bash -eu -c "$steps" >out 2>&1; then ok "they run the $time time"; else not_ok "they run the $time time" "$(tail -n 4 out)"; fi
  check "without a warning, the $time time" sh -c '! grep -i -e warning -e "no such file" out'
done
check 'no capture is left' sh -c '! fsshim list | grep -q "$1"' sh "$scratch"
