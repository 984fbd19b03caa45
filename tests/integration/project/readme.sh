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

# Its pictures are made by a real run.
mkdir pictures
check_status 'the pictures are drawn' 0 '' "$FSR_SOURCE/tools/pictures" pictures \
  'for n in $(seq 200); do echo $n >share/$n; done; cat share/* >/dev/null; rm share/1*'
for file in "$PWD"/pictures/way-of-data.svg "$PWD"/pictures/replay.svg "$FSR_SOURCE"/docs/pictures/{way-of-data,replay}.svg; do
  check "$(basename "$file") is XML" python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$file"
  check "$(basename "$file") is drawn for light and dark" grep -q 'prefers-color-scheme:dark' "$file"
done
check 'a picture has the number of operations of its run' grep -Eq '>[1-9][0-9,]* operations</text>' pictures/way-of-data.svg
