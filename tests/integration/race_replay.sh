#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two processes race for the same names, some thousand times, under a capture; whoever won then wins again when that is replayed.
# A removed file that the kernel still looked at has no name to reach it by in a directory: such races are replayed onto memory:.
# Without cached entries: a look at a name cached a moment too long is answered ESTALE, which the kernel keeps from the application.
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"

# How many times a name was looked at before a change of it began, and until after that.
overlapping() {
  fstrace dump --json "$1" | python3 -c '
import json, sys
looks, found = [], 0
for line in sys.stdin:
    op = json.loads(line)
    start, end = op["start"], op["start"] + op.get("duration", 0)
    looks = [look for look in looks if look[0] > start]
    key = (op.get("parent"), op.get("name"))
    if op["kind"] == "lookup":
        looks.append((end, key))
    elif op["kind"] in ("create", "unlink", "mkdir", "rmdir", "rename") and not op.get("error"):
        found += any(look[1] == key for look in looks)
print(found)'
}

for races in names removals; do
  mkdir $races
  check "$races: captured" fsshim capture $races --cache none -o $races.zst -- "$FSR_SOURCE/tests/apps/race" $races $races 4000
  for order in strict resource; do
    target=memory:
    [ $races = removals ] || target=$races.$order
    fsreplay $races.zst $target --order $order --timing asap -q --json >$races.$order.json 2>$races.$order.err
    check_report "$races: replayed in $order order, all as recorded" $races.$order.json \
      'r["violations"] == 0' 'r["differed"] == 0' 'r["matched"] == r["issued"] == r["operations"]'
  done
done
check "some looked before a removal began, and ended after it" test "$(overlapping removals.zst)" -gt 0
