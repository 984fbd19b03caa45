#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Synthesized mixes without a server: shares that come round through a capture, working directories that are checked, used again and
# mended, loads that are kept, fsbench, and what must be refused.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"

# The shares of each published mix, in memory.
for mix in nhfsstone laddis sfs97-v2 sfs97-v3 sfs2008-v3; do
  fsreplay mix:$mix memory: --calls 200000 --streams 32 -q --json >$mix.json 2>$mix.err
  check_report "mix:$mix: 200,000 calls in memory have its shares" $mix.json 'r["mix"]["calls"] == 200000' 'r["differed"] == 0' \
    'all(abs(p["issued_share"] - p["asked"]) < 0.002 for p in r["mix"]["procedures"].values())' 'r["violations"] == 0'
done

# The same through a capture, for the procedures that are one request there too. What a preparation alone does is subtracted.
load=(mix:sfs97-v3 share --calls 20000 --streams 8 -q)
for part in prepared ran; do
  rm -rf share && mkdir share
  [ $part = prepared ] && only=--prepare-only || only=--quiet
  check "a mix is captured: $part" fsshim capture share -o $part.zst -- fsreplay "${load[@]}" $only
  fstrace dump --json $part.zst >$part.jsonl
done
cat >shares.py <<'P'
import collections, json
count = {part: collections.Counter(json.loads(line).get("kind") for line in open(part + ".jsonl")) for part in ("prepared", "ran")}
want = {"read": 18, "write": 9, "readlink": 7, "fsync": 5, "setattr": 1, "create": 1, "unlink": 1}
got = {op: (count["ran"][op] - count["prepared"][op]) / 200 for op in want}
off = {op: round(got[op] - want[op], 3) for op in want}
print(off)
raise SystemExit(max(map(abs, off.values())) >= 0.2)
P
check "a captured mix has its shares" python3 shares.py

# A working set that is there: others' files beside it stay, ours are checked, mended and used again.
mkdir -p tree/123 && echo precious >tree/0001
described() {  # TREE STREAMS: as the manual says
  local n
  for n in $(seq 0 $(($2 - 1))); do
    [ "$(find "$1/testdir$n" -maxdepth 1 -name '0[0-4]?abcdefghijklmn' -size +0 | sort | head -n 40 | wc -l)" = 40 ] || return 1
    [ "$(stat -c %a "$1/testdir$n/000abcdefghijklmn")" = 666 ] || return 1
    [ -d "$1/testdir$n/dir" ] && [ -d "$1/testdir$n/lin" ] && [ "$(readlink "$1/testdir$n/sym/"*1 | head -n 1)" = ./symlinknamelongstuff ] || return 1
    [ "$(find "$1/testdir$n" -maxdepth 1 -name 'rename[12]' | wc -l)" = 1 ] || return 1
  done
}
check "a mix runs beside other files" fsreplay mix:nhfsstone tree --streams 50 --duration 2s -q
check "it leaves the working directories as described" described tree 50
rm tree/testdir0/00[1-5]* && truncate -s 0 tree/testdir2/010* && rm -r tree/testdir3
fsreplay mix:nhfsstone tree --streams 50 --calls 5000 -q --json >again.json 2>again.err
check_report "a second run uses them again" again.json 'r["image"]["kept"] > 50 * 40' 'r["image"]["failed"] == 0' 'r["differed"] == 0'
check "and mends them" described tree 50
check "nothing else is touched" test "$(cat tree/0001)" = precious -a -d tree/123
fsreplay mix:sfs97-v3 tree2 --streams 4 --calls 400 --working-set 64M -q >/dev/null
check "a larger working set" test "$(du -s --apparent-size -k tree2 | cut -f1)" -ge 65536

# Streams that share directories: what is prepared follows the directories; leftovers of a run are used or removed by the next one.
for run in first second; do
  fsreplay mix:sfs97-v3 crowd --streams 5000 --directories 5 --calls 20000 -q --json >crowd.json 2>crowd.err
  check_report "5,000 streams in 5 directories, $run run" crowd.json 'r["streams"] == 5000' 'r["differed"] == 0' \
    'r["image"]["files"] < 5 * 70' 'r["mix"]["issued"]["total_percent"] < 4'
done
check "they make no other directories" test "$(echo crowd/*)" = "crowd/testdir0 crowd/testdir1 crowd/testdir2 crowd/testdir3 crowd/testdir4"
check_status "more directories than streams" 2 '--directories 9: expected at most one for each of 8 streams' fsreplay mix:sfs97-v3 crowd --directories 9
check_status "too many directories of their own" 2 '--streams 10001: expected at most 10000 with directories of their own' \
  fsreplay mix:sfs97-v3 memory: --streams 10001

# Same seed, same operations: seen by what they leave.
names() { (cd "$1" && find . -printf '%P %s %l\n' | sort); }
for tree in once twice; do fsreplay mix:sfs97-v3 $tree --streams 4 --calls 3000 --seed 9 -q >/dev/null; done
check "the same seed leaves the same tree" diff <(names once) <(names twice)

# Loads in memory; short, so the tolerance allows for a busy machine.
for load in 300 3000; do
  fsreplay mix:sfs97-v3 memory: --load $load --duration 2s -q --json >load.json
  check_report "$load calls/s are kept in memory" load.json "abs(r['issued'] - 2 * $load) <= 0.02 * 2 * $load" 'r["elapsed_ns"] < 2.2e9'
done
for arrival in uniform deterministic; do
  fsreplay mix:sfs97-v3 memory: --load 500 --calls 500 --arrival $arrival -q --json >load.json
  check_report "$arrival arrivals" load.json 'r["issued"] == 500' '0.9e9 < r["elapsed_ns"] < 1.3e9'
done
cat >mkdir.mix <<'M'
Server nfs:
calls      badcalls
100        0
null       getattr    setattr    root       lookup     readlink   read
0  0%      50 50%     0  0%      0  0%      0  0%      0  0%      0  0%
wrcache    write      create     remove     rename     link       symlink
0  0%      0  0%      0  0%      0  0%      0  0%      0  0%      0  0%
mkdir      rmdir      readdir    fsstat
50 50%     0  0%      0  0%      0  0%
M
check_status "a dry run says what can't be as asked" 0 'mkdir: 50.00 % requested, 0.00 % issued' fsreplay mkdir.mix memory: --dry-run

# A mix that can't be had is an invalid run.
cat >root.mix <<'M'
Server nfs:
calls      badcalls
100        0
null       getattr    setattr    root       lookup     readlink   read
0  0%      50 50%     0  0%      50 50%     0  0%      0  0%      0  0%
wrcache    write      create     remove     rename     link       symlink
0  0%      0  0%      0  0%      0  0%      0  0%      0  0%      0  0%
mkdir      rmdir      readdir    fsstat
0  0%      0  0%      0  0%      0  0%
M
check_status "a mix that is off is an invalid run" 1 'INVALID RUN, mix generated is off by 100.00%' fsreplay root.mix memory: --calls 100 -q
check_status "for fsbench too" 1 '^INVALID RUN, mix generated is off by 100.00%$' fsbench nhfsstone -m root.mix -c 100 -l 10000 memory:

# fsbench: directories in turn, options as the original takes them.
mkdir one two
check_status "fsbench nhfsstone: its line" 0 '^[01] sec 1000 calls [0-9]+\.[0-9]{2} calls/sec [0-9]+\.[0-9]{2} msec/call$' \
  fsbench nhfsstone -c 1000 -l 1000 -p 5 one two
check "its directories: one for each process, in turn" test "$(echo one/* two/*)" = "one/testdir0 one/testdir2 one/testdir4 two/testdir1 two/testdir3"
check_status "its table" 0 '^lookup     34%    3[34]\.[0-9]{2}%  ' fsbench nhfsstone -vl 2000 -t 1 one two

mkdir -p linked disk1/three disk2 && ln -s ../disk1/three linked/testdir0 && ln -s "$PWD/disk2" linked/testdir2
check_status "test directories may be symbolic links" 0 '^[0-9]+ sec 300 calls' fsbench nhfsstone -c 300 -l 3000 -p 3 linked
check "and are used where they lead" test "$(echo disk1/three/000* disk2/000* linked/testdir1/000*)" = \
  "disk1/three/000abcdefghijklmn disk2/000abcdefghijklmn linked/testdir1/000abcdefghijklmn" -a -L linked/testdir0
mkdir full && mount -t tmpfs -o size=100k tmpfs full
check_status "a full disk: what can't be written" 2 "can't make test directory: write testdir0/0[0-9]+abcdefghijklmn: .* instead of [0-9]+ bytes; 0 B are free" \
  fsbench nhfsstone -c 10 -l 1000 -p 1 full
umount full
mount -t tmpfs -o ro tmpfs full
check_status "a read-only one: no word of space" 2 "can't make test directory: mkdir testdir0: EROFS instead of [^;]*$" fsbench nhfsstone -c 10 -l 1000 -p 1 full
umount full

# What a mix carries beyond its shares: of a database and files that are read to their ends, through a mixfile and back.
cat >database.py <<'P'
import os, sqlite3
db = sqlite3.connect("work/data.db")
db.execute("create table t (k integer primary key, v blob)")
for i in range(20):
    db.executemany("insert into t (v) values (?)", [(os.urandom(200 + 37 * i),) for _ in range(40)])
    db.commit()
for i in range(150):
    db.execute("select length(v) from t where k = ?", (i * 5 + 1,)).fetchone()
    os.path.exists(f"work/{'data.db' if i % 3 else f'none{i}'}")
db.close()
for i in range(40):
    with open(f"work/log{i}", "wb", buffering=0) as f:
        for j in range(6):
            f.write(b"x" * 1500)
    with open(f"work/log{i}", "rb", buffering=0) as f:
        while f.read(4096):
            pass
P
mkdir work
check "a database is captured" fsshim capture work -o database.zst -- python3 database.py
fstrace mix database.zst >database.mix 2>mix.err
check "its mix says what lookups, reads and writes are like" test "$(grep -cE '^# fsreplay: (lookup failed|(read|write) sequential) ' database.mix)" = 3
near=lookups=0.02,sequential=0.02,sizes=0.02
check "as fast as possible" fsreplay database.mix memory: --calls 10000 -q --record fast.zst
check "lookups, sequential shares and sizes are within 2 points" fstrace compare database.zst fast.zst --tolerance $near
check "at a rate, into a directory" fsreplay database.mix paced-tree --calls 4000 --load 4000 -q --record paced.zst
check "there too" fstrace compare database.zst paced.zst --tolerance $near
fstrace mix fast.zst >fast.mix 2>mix.err
check_status "the mix of that run has the same sizes again" 0 '^# fsreplay: write sizes sequential .*1488:' cat fast.mix
grep -v '^# fsreplay:' database.mix >plain.mix
check "a mix without these lines is run as before" fsreplay plain.mix memory: --calls 10000 -q --record plain.zst
check_status "and is far from its trace" 1 'sequential +0\.[1-9].*MORE THAN' fstrace compare database.zst plain.zst --tolerance $near
check_status "--sizes goes before what the mix says" 1 'sizes +0\.[1-9].*MORE THAN' sh -c \
  'fsreplay database.mix memory: --calls 4000 --sizes sfs -q --record sfs.zst && fstrace compare database.zst sfs.zst --tolerance sizes=0.02'
check_status "a model of the client has none of them" 1 '' grep fsreplay <(fstrace mix --client-model linux database.zst 2>mix.err)
check_status "a damaged line is named" 2 "database.mix:[0-9]+: bad mix format: expected 'lookup failed', followed by a share" \
  sh -c "sed -i 's/lookup failed .*/lookup failed many/' database.mix && fsreplay database.mix memory:"

# What must be refused: one line, status 2.
refused() {  # NAME PATTERN COMMAND...
  local name=$1 pattern=$2 status=0
  shift 2
  "$@" >stdout 2>stderr </dev/null || status=$?
  if [ $status = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] && grep -Eq "$pattern" stderr; then
    ok "$name"
  else
    not_ok "$name" "$* ended with $status: $(head -n 5 stderr stdout | tr '\n' '|')"
  fi
}
sed 's/^100 .*/many/' root.mix >bad.mix
refused "a bad mixfile" "bad.mix:[0-9]+: bad mix format: can't find 'calls' value" fsreplay bad.mix memory:
refused "an unknown mix" 'no such mix; there are nhfsstone' fsreplay mix:webserver memory:
refused "load 0" 'rate above 0' fsreplay mix:laddis memory: --load 0
refused "a negative load" 'expected' fsreplay mix:laddis memory: --load -5
refused "a ramp that falls" 'expected a ramp that ends at or above its start' fsreplay mix:laddis memory: --load 500-100,50
refused "no streams" 'streams' fsreplay mix:laddis memory: --streams 0
refused "a negative number of streams" 'streams' fsreplay mix:laddis memory: --streams=-3
refused "no calls" 'calls' fsreplay mix:laddis memory: --calls 0
refused "sizes of a trace that is none" 'nosuch' fsreplay mix:laddis memory: --sizes nosuch
refused "a mix at a scale" 'but --scale is for traces; leave --scale out' fsreplay mix:laddis memory: --scale 4x
refused "a trace at a load" 'is a trace' fsreplay ran.zst memory: --load 100
refused "a server that is not there" 'refused' fsreplay mix:laddis 'nfs://127.0.0.1:9/e?version=3&nfsport=9&mountport=9'
refused "fsbench: an illegal load" 'illegal load value 0' fsbench nhfsstone -l 0 one
refused "fsbench: illegal calls" 'illegal calls value x' fsbench nhfsstone -c x one
refused "fsbench: a missing mixfile" 'nosuch.mix' fsbench nhfsstone -m nosuch.mix one
refused "fsbench: a missing directory" 'no/such' fsbench nhfsstone no/such/place
# Files of others in a test directory stay what they are.
foreign() {  # NAME PATTERN: of the directory `own`, which must not change
  find own -type f -exec md5sum {} + | sort >before.sums
  refused "$1" "$2" fsbench nhfsstone -c 10 -l 1000 -p 1 own
  refused "$1, fsreplay" "$2" fsreplay mix:nhfsstone own --streams 1 --calls 10 -q
  check "$1: it stays" diff before.sums <(find own -type f -exec md5sum {} + | sort)
  rm -r own
}
made() { mkdir -p own/testdir0 && touch own/testdir0/.fsreplay; }  # as by an earlier mix
mkdir -p own/testdir0 && echo precious >own/testdir0/000abcdefghijklmn
foreign "a user's file with the name of a test file" 'testdir0: not empty, and no mix has made it'
made && echo some-trace >own/testdir0/.fsreplay
foreign "the replay of a trace in a test directory" 'testdir0: holds the replay of a trace'
made && echo precious >own/testdir0/notes
foreign "a foreign file in a test directory" 'testdir0/notes: expected only what a mix creates'
made && mkdir -p own/testdir0/dir/001 && echo precious >own/testdir0/dir/001/002
foreign "a file below a name of a mix" 'testdir0/dir/001/002: expected only what a mix creates'
made && mkdir -p own/testdir0/rename1 && echo precious >own/testdir0/rename1/001
foreign "a directory with the name of a file" 'testdir0/rename1: expected a regular file'
made && echo precious >own/testdir0/001
foreign "a file with the name of a pipe" 'testdir0/001: expected a pipe'
mkdir own && echo precious >own/testdir0
foreign "a file in place of the test directory" 'testdir0: expected a directory'
ln -s nowhere one/testdir9
refused "a link that leads nowhere" 'one/testdir9: a symbolic link that leads nowhere' fsbench nhfsstone -p 10 one
mkdir both && ln -s ../disk1 both/testdir0 && ln -s ../disk1 both/testdir1
refused "two processes in one directory" 'testdir0 and testdir1: expected a directory each' fsbench nhfsstone -p 2 both
mkdir -p set/testdir0 && ln -s ../set/testdir0 set/testdir1
refused "a link to another test directory" 'testdir0 and testdir1: expected a directory each' fsbench nhfsstone -p 2 set/.
check "and nothing is made there" test -z "$(ls -A set/testdir0)"
for missing in missing file:missing; do
  refused "nhfsstone: no such target, $missing" 'missing: No such' fsbench nhfsstone $missing
  check_status "bonnie: no such target, $missing" 2 'missing: No such' fsbench bonnie -u root -d $missing
  refused "nfstest: no such target, $missing" 'missing: No such' fsbench nfstest f$missing
  refused "lantest: no such target, $missing" 'missing: No such' fsbench lantest $missing
  check_status "postmark: no such target, $missing" 2 'missing: No such' sh -c "printf 'run\nquit\n' | fsbench postmark --location $missing"
  refused "compare: no such target, $missing" 'missing: No such' fsbench compare memory: $missing -- lantest
done
check "none of these made it" test ! -e missing
mkdir optional
for option in direct=1 past-cache=1; do
  check "bonnie on a directory with $option" fsbench bonnie -u root -r 0 -q -f -s 0 -n 1 -d "optional?$option"
  check "postmark on a directory with $option" \
    sh -c "printf 'set number 5\nset transactions 5\nrun\nquit\n' | fsbench postmark --location '$PWD/optional?$option'"
done
refused "fsbench: no personality" 'subcommand' fsbench
