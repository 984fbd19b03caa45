#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS, small: measured part by part, it ends with a page that holds every table, also from what it saved. Requests
# are the same in a second run; what the page says of outcomes follows from them.
. "$(dirname "$0")/../harness/common.sh"

study=("$FSR_SOURCE/tools/study-9p-nfs" --rounds 2 --transactions 50 --number 30 --size 1 --files 1 --keep-caches)
# One round of bonnie++: the least that it can do makes 1,024 files on each target, twice.
check 'a part of the study runs' "${study[@]}" --rounds 1 --save saved.json --part bonnie -o part.md
check 'and is all there is' eval "grep -q '^### bonnie' part.md && ! grep -q '^### PostMark' part.md"
check 'the others run' "${study[@]}" --save saved.json -o page.md
check 'what was measured already stays' eval 'grep -qxF "$(grep "^| put_block" part.md)" page.md'
for row in transactions 'file read' put_block seeks seq_create; do
  check "a row of $row" grep -Eq "^\| $row \| .*[1-9].* \|" page.md
done
for row in transactions put_block ran_del; do
  check "each protocol has rates of $row" grep -Eq "^\| $row \| [^|]* (\| [0-9,.]+ ){5}\|" page.md
done
check 'every run ended well' eval '! grep -Eq "^- (round|left out)" page.md'
check 'what earlier results say is beside it' grep -q '^| PostMark, files created: 20 times | 2009 |' page.md
check 'the same page from what was saved' "$FSR_SOURCE/tools/study-9p-nfs" --from saved.json -o again.md
check 'it is the same' eval 'cmp <(sed s/again.md/page.md/g again.md) page.md'
check 'the raw data are beside it' cmp saved.json page.md.json

check 'longer round trips and other servers' "${study[@]}" --part delay --delay 0 --delay 3 --part servers -o more.md
check 'and sizes of messages' "${study[@]}" --rounds 1 --part msize -o msize.md
check 'a round trip of 3 ms is waited for' eval '[ "$(sed -n "s/^- NFSv3: \([0-9][0-9]*\).*/\1/p" more.md | tail -n 1)" -ge 2 ]'
check 'requests are counted again' "${study[@]}" --part requests-buffered --save counted.json -o counted.md
python3 - >verdict 2>&1 <<'P'
import json
first, second = ([e for e in json.load(open(name)) if e["part"] == "requests-buffered"][0]["relays"] for name in ("saved.json", "counted.json"))
assert len(first) >= 7, list(first)
for name, relay in first.items():
    for kind, count in relay["requests"].items():  # a slow run renews its lease
        assert abs(count - second[name]["requests"][kind]) <= (3 if kind == "compound" else 0), (name, relay["requests"], second[name]["requests"])
# A file of PostMark is made and written by one request each, whatever the protocol.
made = {"NFSv3": "create", "9P2000.L": "lcreate", "9P2000": "create"}
assert len({first[name]["requests"][kind] for name, kind in made.items()}) == 1, first
P
if [ $? = 0 ]; then ok 'and are the same'; else not_ok 'and are the same' "$(tail -n 1 verdict)"; fi
python3 - >verdict 2>&1 <<'P'
import copy, sys
sys.path.insert(0, __import__("os").environ["FSR_SOURCE"] + "/tools/study")
import json, page
entries = [e for e in json.load(open("saved.json")) if e["part"] in ("buffered", "bonnie")]
def told(change):
    changed = copy.deepcopy(entries)
    change(changed)
    return "\n".join(page.lines(changed, ""))
def faster(list_):
    for against in [a for e in list_ for row in e["result"]["rows"] for a in row["against"]]:
        against.update(rounds=2, decided=True, ratio=20.0, low=19.0, high=21.0)
def lost(list_):
    next(e for e in list_ if e["part"] == "bonnie")["result"]["complaints"] = ["round 1, x: status 1: Expected 1024 files but only got 118"]
def cached(list_):
    for e in list_:
        e.update(client="kernel", memory=256)
assert "differs" not in "\n".join(l for l in told(faster).splitlines() if "20 times" in l) and "agrees" in told(faster)
assert "1 run ended as in 2009" in told(lost) and "list all of them" in told(lambda _: None)
assert "not tested: 1 MiB in 256 MiB" in told(cached)
P
if [ $? = 0 ]; then ok 'sentences follow from outcomes'; else not_ok 'sentences follow from outcomes' "$(tail -n 1 verdict)"; fi

mkdir a b
check 'targets of the user, such as mounts' "${study[@]}" --target "here=$PWD/a" --target "there=$PWD/b" --part buffered -o given.md
check 'have a table' grep -Eq '^\| transactions \| 1/s of the run (\| [0-9,.]+ ){2}\|' given.md
check_status 'a part that there is not' 1 'expected one of' "${study[@]}" --part speed
