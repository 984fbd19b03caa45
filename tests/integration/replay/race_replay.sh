#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two processes race for the same names, some thousand times, under a capture, and six for locks on one file; whoever won then wins
# again when that is replayed.
# A removed file that the kernel still looked at has no name to reach it by in a directory: such races are replayed onto memory:.
# With the entries that the kernel keeps, too: one that it keeps a moment too long leads to the file removed, as without a capture.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"

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
  for cache in none auto; do
    name=$races.$cache
    mkdir $name
    check "$races, cache $cache: captured" fsshim capture $name --cache $cache -o $name.zst -- "$FSR_SOURCE/tests/apps/race" $races $name 2500
    check "$races, cache $cache: no answer that the kernel keeps from the application" \
      eval '! fstrace dump $name.zst | grep -m 3 ESTALE'
    for order in strict resource; do
      target=memory:
      [ $races = removals ] || target=$name.$order
      fsreplay $name.zst $target --order $order --timing asap -q --json >$name.$order.json 2>$name.$order.err
      check_report "$races, cache $cache: replayed in $order order, all as recorded" $name.$order.json \
        'r["violations"] == 0' 'r["differed"] == 0' 'r["matched"] == r["issued"] == r["operations"]'
    done
  done
done
mkdir locks
check "locks: captured" fsshim capture locks -o locks.zst -- "$FSR_SOURCE/tests/apps/race" locks locks 400
for order in strict resource; do
  for target in memory: locks.$order; do
    fsreplay locks.zst $target --order $order --timing asap -q --json >locks.json 2>locks.err
    check_report "locks: replayed onto ${target%%.*} in $order order, all as recorded" locks.json \
      'r["violations"] == 0' 'r["differed"] == 0' 'r["matched"] == r["issued"] == r["operations"]'
  done
done
check "some looked before a removal began, and ended after it" test "$(overlapping removals.none.zst)" -gt 0
