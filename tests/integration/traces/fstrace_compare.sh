#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A capture and its replays, as fsreplay --record leaves them, compared by fstrace: alike at the recorded speed, not at four times
# it, nor where something is missing.
. "$(dirname "$0")/../harness/common.sh"

# Paced, so that its length says what the speed was and not what else the machine did.
cat > work.sh <<'S'
mkdir tree
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
  echo "some text $i" > tree/file$i
  cat tree/file$i tree/none$i
  sleep 0.1
done
ln -s file1 tree/link
mv tree/file2 tree/renamed
rm tree/file3
ls -a tree
exit 0
S
mkdir work
fsshim capture work -o capture.zst -- sh -c "cd work && sh $scratch/work.sh" >/dev/null 2>&1 || exit 1

# value FILE EXPRESSION: of a comparison in JSON as c.
value() { python3 -c 'import json, sys; c = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
holds() {  # NAME FILE EXPRESSION
  if [ "$(value "$2" "$3")" = True ]; then ok "$1"; else not_ok "$1" "$3 does not hold: $(value "$2" 'c["distances"]')"; fi
}
member() { fstrace "$1" --json capture.zst | python3 -c 'import json, sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$2"; }

check "replayed and recorded" fsreplay capture.zst once --record once.zst -q
check "the recording verifies" fstrace verify once.zst
check_status "it says what it is" 0 '^edited +fsreplay --timing original --order resource --scale 1x' fstrace info once.zst
check "replayed four times as fast" fsreplay capture.zst fast --scale 4x --record fast.zst -q
strict=mix=0,outcomes=0,names=0,working-set=0.02,arrivals=0.2
check "a replay is like its capture" fstrace compare capture.zst once.zst --tolerance $strict
check_status "a faster one is not, and why is said" 1 'arrivals +0\.[0-9]+ .*MORE THAN 0.200' \
  fstrace compare capture.zst fast.zst --tolerance $strict
fstrace compare capture.zst fast.zst --json > fast.json
# A busy machine is late, in the capture as in the replay: how much faster it was is in the traces.
span() { fstrace info --json "$1" | python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["last_end"] - i["first_start"])'; }
holds "four times as fast: the distance is that of the times" fast.json \
  "abs(c['distances']['arrivals'] - (1 - $(span fast.zst) / $(span capture.zst))) < 0.1"
holds "four times as fast: the same operations, outcomes and names" fast.json \
  'all(c["distances"][a] == 0 for a in ("mix", "outcomes", "names"))'
holds "both have the operations of their traces" fast.json \
  "c['first']['operations'] == c['second']['operations'] == $(member info '["operations"]')"
holds "the numbers by kind add up" fast.json 'sum(k["first"]["operations"] for k in c["kinds"]) == c["first"]["operations"]'
holds "latencies are those of fstrace stat" fast.json "c['first']['latency_p99_ns'] == $(member stat '["total"]["latency_p99_ns"]')"
check "a trace is like itself" fstrace compare capture.zst capture.zst --tolerance 0
check "replay against replay" fstrace compare once.zst fast.zst --tolerance mix=0,outcomes=0,names=0

mkdir small
mount -t tmpfs -o size=64k tmpfs small || exit 1
head -c 49152 /dev/zero > small/filler
fsreplay capture.zst small/tree --record wrong.zst -q >/dev/null
check_status "a target without room is told by its outcomes" 1 'outcomes +0\.[0-9]+ .*MORE THAN' \
  fstrace compare capture.zst wrong.zst --tolerance outcomes=0
check_status "of one kind alone" 1 'write:outcomes 0\.[0-9]+; MORE THAN 0.000' \
  fstrace compare capture.zst wrong.zst --tolerance getattr:latency=1,write:outcomes=0 --html kinds.html
check_status "a kind that differs less than it may" 0 'write:outcomes 0\.[0-9]+; within 1.000' \
  fstrace compare capture.zst wrong.zst --tolerance write:outcomes=1
check "the page tells it too" grep -q 'write:outcomes' kinds.html
check_status "and by what it lacks at the end" 1 'names +0\.[0-9]+ .*MORE THAN' fstrace compare capture.zst wrong.zst --tolerance names=0
fstrace filter capture.zst --op mkdir,symlink,rename -o part.zst >/dev/null
check_status "half of the operations missing" 1 'mix .*MORE THAN 0.050' fstrace compare capture.zst part.zst --tolerance 0.05
head -c $(($(stat -c %s once.zst) - 200)) once.zst > torn.zst
check_status "a torn trace is compared as far as it goes, and told" 1 'torn.zst: .*missing' fstrace compare capture.zst torn.zst

# Two race for names, and the other one wins: no fewer failures, each another one's. A listing as long as before, of another name.
race() {  # ERROR-OR-0 ERROR-OR-0 NAME
  for i in $(seq 20); do
    echo "1 $i.0 mkdir(\"/w/d$i\", 0700) = $1 <0.1>"
    echo "2 $i.5 mkdir(\"/w/d$i\", 0700) = $2 <0.1>"
  done
  echo "1 30.0 openat(AT_FDCWD, \"/w/d1\", O_RDONLY|O_DIRECTORY) = 3 <0.1>"
  echo "1 31.0 getdents64(3, [{d_ino=1, d_name=\".\"}, {d_ino=2, d_name=\"..\"}, {d_ino=3, d_name=\"$3\"}], 32768) = 72 <0.1>"
  echo "1 32.0 getdents64(3, [], 32768) = 0 <0.1>"
  echo "1 33.0 close(3) = 0 <0.1>"
}
exists="-1 EEXIST (File exists)"
race 0 "$exists" a > won.log
race "$exists" 0 a > lost.log
race 0 "$exists" b > listed.log
for log in won lost listed; do fstrace import $log.log --directory /w -o $log.zst >/dev/null; done
check_status "outcomes that changed places are told, one by one" 1 'outcomes +0\.[89].*MORE THAN' \
  fstrace compare won.zst lost.zst --tolerance outcomes=0
check_status "and which they were" 0 'operation 0, mkdir d1: ok, then EEXIST' fstrace compare won.zst lost.zst
check_status "a listing of another name, as long as before, is told" 1 'a listing, then a listing of other names' \
  fstrace compare won.zst listed.zst --tolerance outcomes=0
holds "a replay's operations all have their pairs" fast.json \
  'c["pairs"]["both"] == c["first"]["operations"] and c["pairs"]["differing"] == c["pairs"]["only_first"] == c["pairs"]["only_second"] == 0'

check "--html" fstrace compare capture.zst fast.zst --html page.html
cat > page.py <<'P'
import html.parser, sys
class Check(html.parser.HTMLParser):
    void, stack = {"meta", "link"}, []
    def handle_starttag(self, tag, attrs):
        assert tag != "script" and not [v for k, v in attrs if k in ("src", "href") and not v.startswith(("#", "data:"))], (tag, attrs)
        self.close(*{"td": ("td",), "tr": ("td", "tr")}.get(tag, ()))
        if tag not in self.void:
            self.stack.append(tag)
    def close(self, *tags):  # HTML lets cells and rows end where the next one begins, or the body of the table ends
        while self.stack and self.stack[-1] in tags:
            self.stack.pop()
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        self.close(*(("td", "tr") if tag == "tbody" else ()))
        assert self.stack.pop() == tag, tag
check = Check()
check.feed(open(sys.argv[1]).read())
assert not check.stack
P
check "the page is well-formed and has no script and no link outwards" python3 page.py page.html
check_status "a page that exists is kept" 2 'page.html: exists already' fstrace compare capture.zst fast.zst --html page.html
check_status "a tolerance that is none" 2 'expected a distance from 0 to 1' fstrace compare capture.zst once.zst --tolerance 2
check_status "a kind that is none" 2 'expected KIND:ASPECT=DISTANCE with a kind of operation' fstrace compare capture.zst once.zst --tolerance sing:latency=0.1
check_status "an aspect that a kind does not have" 2 'latency, gaps or outcomes' fstrace compare capture.zst once.zst --tolerance read:mix=0
check_status "an aspect that is none" 2 'expected one of mix, arrivals' fstrace compare capture.zst once.zst --tolerance speed=0.1
check_status "one trace is not enough" 2 'SECOND is required' fstrace compare capture.zst
check_status "no trace" 2 'work.sh' fstrace compare capture.zst work.sh
check_status "a recording replaces nothing" 2 'once.zst: exists already' fsreplay capture.zst again --record once.zst -q
check_status "no place for a recording" 2 'nowhere/x.zst: No such file' fsreplay capture.zst again --record nowhere/x.zst -q
rm -rf small/tree
head -c 61440 /dev/zero > small/filler
check_status "a full disk ends the recording, not the replay, and is told" 1 'small/record.zst: can.t write.*No space' \
  fsreplay capture.zst full --clones 20 --scale 100x --record small/record.zst -q
[ -e full/clone-19/tree/renamed ] && ok "the replay went on" || not_ok "the replay went on" "$(ls full)"
