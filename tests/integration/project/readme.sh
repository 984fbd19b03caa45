#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The README's five minutes, word for word but for the build, servers and the size of what is copied; and again, as a user would.
. "$(dirname "$0")/../harness/common.sh"

# The indented lines of the section, up to what needs a server.
steps=$(sed -n '/^## Five minutes/,/^As fast as/s/^    //p' "$FSR_SOURCE/README.md" | grep -v -e meson -e install-deps -e '^export PATH' |
  sed 's#/usr/include#/usr/include/linux#')
check 'there are steps' test "$(wc -l <<<"$steps")" -ge 10
export TMPDIR=$scratch
for time in first second; do
  if bash -eu -c "$steps" >out 2>&1; then ok "they run the $time time"; else not_ok "they run the $time time" "$(tail -n 4 out)"; fi
  check "without a warning, the $time time" sh -c '! grep -i warning out'
done
check 'no capture is left' sh -c '! fsshim list | grep -q "$1"' sh "$scratch"
