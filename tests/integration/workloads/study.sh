#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS, small: measured part by part, it ends with a page that holds every table, also from what it saved. Requests
# are the same in a second run; what the page says of outcomes follows from them.
. "$(dirname "$0")/../harness/common.sh"

study=("$FSR_SOURCE/tools/study-9p-nfs" --rounds 2 --transactions 50 --number 30 --size 1 --files 1 --keep-caches)
# One round of bonnie++: the least that it can do makes 1,024 files on each target, twice.
check 'a part of the study runs' "${study[@]}" --rounds 1 --save saved.json --part bonnie -o part.md
check 'and is all there is' eval "grep -q '^### bonnie' part.md && ! grep -q '^### PostMark' part.md"
check 'the others run' "${study[@]}" --rounds 1 --save saved.json -o page.md
check 'what was measured already stays' eval 'grep -qxF "$(grep "^| put_block" part.md)" page.md'
for row in transactions 'file read' put_block seeks seq_create; do
  check "a row of $row" grep -Eq "^\| $row \| .*[1-9].* \|" page.md
done
for row in transactions put_block ran_del; do
  check "each protocol has rates of $row" grep -Eq "^\| $row \| [^|]* (\| [0-9,.]+ ){5}\|" page.md
done
check 'every run ended well' eval '! grep -E "^- (round|left out)" page.md | grep -v "the load generator itself stood still"'
check 'what earlier results say is beside it' grep -q '^| PostMark, files created: 20 times | 2009 |' page.md
check 'the same page from what was saved' "$FSR_SOURCE/tools/study-9p-nfs" --from saved.json -o again.md
check 'it is the same' eval 'cmp <(sed s/again.md/page.md/g again.md) page.md'
check 'the raw data are beside it' cmp saved.json page.md.json

check 'longer round trips, other servers and sizes of messages' "${study[@]}" --rounds 1 --part delay --delay 0 --delay 3 --part servers --part msize -o more.md
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
import given
mounts = {("nfs", "rw,vers=3,hard"): "nfs3", ("nfs4", "rw,vers=4.2,hard"): "nfs4", ("9p", "rw,access=user,trans=tcp"): "9p2000.L",
          ("9p", "rw,version=9p2000.u"): "9p2000.u", ("9p", "rw,noextend"): "9p2000", ("ext4", "rw"): "ext4"}
assert [given.protocol_of_mount(*mount) for mount in mounts] == list(mounts.values())
urls = {"nfs://h/e": "nfs3", "nfs4://h/e": "nfs4", "nfs://h/e?vers=4.1": "nfs4", "9p://h/?dialect=9p2000": "9p2000", "9p://h/": "9p", "memory:": "memory"}
assert [given.protocol_of_url(url) for url in urls] == list(urls.values())
P
if [ $? = 0 ]; then ok 'sentences follow from outcomes'; else not_ok 'sentences follow from outcomes' "$(tail -n 1 verdict)"; fi
python3 - >verdict 2>&1 <<'P'
import os, runpy, types
keep_drawn = runpy.run_path(os.environ["FSR_SOURCE"] + "/tools/study-9p-nfs")["keep_drawn"]
with open("drawn.html", "w", encoding="utf-8") as out:
    out.write("x")
assert keep_drawn("drawn.html", types.SimpleNamespace(output="nosuch/page.md"), "own.delay.0ms") == "" and not os.path.exists("drawn.html")
P
if [ $? = 0 ]; then ok 'drawings that cannot be kept are not in the way of the next'; else not_ok 'drawings that cannot be kept are not in the way of the next' "$(tail -n 1 verdict)"; fi

mkdir a b
check 'targets of the user, such as mounts' "${study[@]}" --target "here=$PWD/a" --target "there=$PWD/b" --part buffered -o 'given (1).md'
check 'have a table' grep -Eq '^\| transactions \| 1/s of the run (\| [0-9,.]+ ){2}\|' 'given (1).md'
check 'and a page with drawings' grep -q '<svg' 'given (1).md.given.buffered.'*.html
check 'to which a link leads' grep -Eq '\]\(given%20%281%29\.md\.given\.buffered\.[0-9a-f]{12}\.html\)\.$' 'given (1).md'
named=("${study[@]}" --target "NFSv3=$PWD/a" --target "9P2000.L=$PWD/b")
check 'directories with names of protocols' "${named[@]}" --part buffered --save given.json -o named.md
check 'are what their mounts are' grep -Eq "^- NFSv3: .$PWD/a., through this machine's kernel: $(df --output=fstype . | tail -n 1) of " named.md
check 'and stand beside no client, server or result of others' eval '[ -s named.md ] && ! grep -Eq "no page cache|relay|diod|served|20 times" named.md'
check_status 'their saved part is not that of other directories' 2 'part buffered of other targets' "${study[@]}" --target "x=$PWD/a" --target "y=$PWD/b" --part buffered --save given.json

refused() {  # PATTERN ARGUMENT...: one line that matches, status 2, and nothing measured
  local pattern=$1
  shift
  "${study[@]}" "$@" >said 2>&1
  [ $? = 2 ] && [ "$(wc -l <said)" = 1 ] && grep -Eq -- "^study-9p-nfs: .*$pattern" said || { cat said; return 1; }
}
ab=(--target "a=$PWD/a" --target "b=$PWD/b")
check 'a part that there is not' refused 'expected one of' --part speed
check 'a host without servers' refused '127.0.0.1: no server answers' --server 127.0.0.1
check 'a directory that there is not' refused 'no such directory' --target a=/nosuch --target "b=$PWD/b"
check 'a URL that nothing answers' refused 'y=9p.*refused' --target "a=$PWD/a" --target y=9p://127.0.0.1:9/
check 'one target' refused 'at least two' --target "a=$PWD/a"
check 'a name twice' refused 'of the name a already' "${ab[@]}" --target "a=$PWD/b"
check 'a name that breaks tables' refused 'printable' "${ab[@]}" --target "a|b=$PWD/b"
check 'a page in no directory' refused 'no directory /nonexist' "${ab[@]}" -o /nonexist/x
check 'a page in place of its data' refused 'another file' --from given.json -o given.json
check 'data that are none' refused 'expected a file of --save' --from 'given (1).md'
check 'requests of directories' refused 'needs servers' "${ab[@]}" --part requests-buffered
check "a kernel's part without it" refused 'only with --kernel' --part cache
check 'no rounds' refused 'from 1 to' --rounds 0
check 'options against each other' refused 'do not go together' "${ab[@]}" --kernel

"${named[@]}" --save given.json -o cut.md --part buffered --part unbuffered --transactions 100000000 --number 5000 2>said & own_process $!
until { grep -q '^study-9p-nfs: unbuffered on' said && [ -n "$(ls a)" ]; } || ! kill -0 $!; do sleep 0.01; done
kill -TERM $!
wait $!
check 'interrupted, it leaves no files' [ "$? $(find a b | wc -l)" = "1 2" ]
check 'and the page has what was measured, and says what not' eval 'grep -q "^| transactions" cut.md && grep -q "^- unbuffered: interrupted" cut.md'
