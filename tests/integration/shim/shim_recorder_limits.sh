#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of a capture, pieces of a trace, filters, and what happens when recording falls behind.
. "$(dirname "$0")/../harness/common.sh"
. "$(dirname "$0")/../harness/capture_helpers.sh"

mkdir d
# files N: makes N files, each written and most of them deleted; one file stays open from first to last. Another is opened, locked by
# its open file description and closed, again and again.
cat >files.py <<'END'
import fcntl, os, struct, sys
long = os.open("d/long", os.O_CREAT | os.O_RDWR, 0o644)
for i in range(int(sys.argv[1])):
    os.write(long, b"x" * 50)
    name = "d/f%d-%s" % (i, os.urandom(6).hex())
    with open(name, "w") as f: f.write("hello")
    if i % 8: os.unlink(name)
    if i % 16 == 0:
        locked = os.open("d/locked", os.O_CREAT | os.O_RDWR, 0o644)
        fcntl.fcntl(locked, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        os.close(locked)
END
tree_of() { (cd "$1" && find . -type f ! -name '.fsreplay*' -printf '%p %s\n' | sort); }
value() { python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

# --- pieces
check "a capture in pieces" fsshim capture d -o web.zst --rotate 64k -- python3 files.py 9000
pieces=$(ls web.*.zst | wc -l)
check "there are several pieces" test "$pieces" -ge 3
check "there is no file of the series' own name" eval '! test -e web.zst && test -e web.0001.zst'
check "the series verifies under the name that was given" fstrace verify web.zst
check "so it does by its pieces, in any order" eval 'fstrace verify $(ls -r web.*.zst)'
check "each piece verifies alone" eval 'for p in web.*.zst; do fstrace verify $p || exit 1; done'
whole=$(fstrace info --json web.zst | value 'd["operations"]')
sum=$(for p in web.*.zst; do fstrace info --json "$p" | value 'd["operations"]'; done | awk '{n += $1} END {print n}')
check "no operation is lost or doubled between pieces" test "$whole" = "$sum" -a "$whole" -gt 50000
check "a piece says which one it is" eval 'fstrace info web.0002.zst | grep -q "^series *piece 2"'
check "a piece alone knows names from before it" eval 'fstrace dump --op write web.0002.zst | grep " write long " >/dev/null'
check_status "a missing piece is named" 1 "piece 2 is missing" fstrace verify web.0001.zst web.0003.zst
check_status "pieces of two captures are refused" 2 "belongs to another capture" eval 'fsshim capture d -o other.zst --rotate 64k -- true && fstrace verify web.0001.zst other.0001.zst'
check "the series replays as one" fsreplay -q --timing asap web.zst replayed
check "it leaves the tree that the applications left" eval 'diff <(tree_of d) <(tree_of replayed)'
check "a pattern names pieces, too" fsreplay -q --timing asap 'web.000[23].zst' some
check "a piece replays alone, without the time before it" timeout 20 fsreplay -q web.0002.zst alone
check "it begins with what was there" eval 'test -s alone/long'

rm -rf d/*
check "old pieces are removed on request" fsshim capture d -o keep.zst --rotate 64k --keep 2 -- python3 files.py 9000
check "two are left, the first is gone" eval 'test "$(ls keep.*.zst | wc -l)" = 2 && ! test -e keep.0001.zst'
check "they verify" fstrace verify keep.zst
check "they replay" fsreplay -q --timing asap keep.zst kept

start d hand.zst
echo one >d/one
check_status "rotate on request" 0 "piece 2 begins" fsshim rotate d
echo two >d/two
check "the first piece got its number" eval 'test -e hand.0001.zst && ! test -e hand.zst'
check "the first piece is complete already" fstrace verify hand.0001.zst
touch hand.0003.zst
check_status "a piece never overwrites a file" 1 "hand.0003.zst: exists already" fsshim rotate d
rm hand.0003.zst
check_status "list counts pieces" 0 "hand.zst \(2 pieces\)" fsshim list
kill -INT $capture
ends_with "a rotation that failed is told at the end" 1
check "both files are in the series" eval 'fstrace dump hand.zst | grep "create one" >/dev/null && fstrace dump hand.zst | grep "create two" >/dev/null'
check_status "rotate of nothing" 1 "not captured" fsshim rotate d

# --- limits
check "--max-time ends a capture" timeout 20 fsshim capture d -o time.zst --max-time 0.5s
check "the trace says why" closing time.zst "--max-time reached"
check "the mount is gone" eval '! mounted d'
check "--max-size does not end the command" fsshim capture d -o size.zst --max-size 30k -- sh -c 'python3 files.py 2000 && echo done >d/last'
check "the trace says so" closing size.zst "--max-size reached"
check "it has that size" eval 'size=$(stat -c %s size.zst); test $size -ge 30000 -a $size -lt 300000'
check "the command went on unrecorded" eval 'test -e d/last && ! fstrace dump size.zst | grep "create last" >/dev/null'

# Faster than a trace is written, so that the rings hold much when the limit is reached.
cat >content.py <<'END'
import os, threading
def work(n):
    fd = os.open("d/content%d" % n, os.O_CREAT | os.O_WRONLY)
    for i in range(40): os.pwrite(fd, os.urandom(1 << 20), 0)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
END
check "--max-size with content" fsshim capture d -o content.zst --content full --max-size 4M -- python3 content.py
check "it has that size, too" eval 'size=$(stat -c %s content.zst); test $size -ge 4000000 -a $size -lt 9000000'
mkdir disk && mount -t tmpfs -o size=120M none disk
check_status "content for which the trace's disk has no room" 1 "free on the trace's file system" \
  fsshim capture d -o disk/full.zst --content full -- python3 content.py
check "leaves most of its reserve alone" eval '[ $(($(stat -fc "%a * %S" disk))) -gt 2500000 ]'
check "and its trace says why it ends" closing disk/full.zst "only .* free on the trace's file system"
umount disk

# --- when recording falls behind: what is dropped is counted, and nothing else is missing
cat >burst.py <<'END'
import os, threading
def work(n):
    fd = os.open("d/burst%d" % n, os.O_CREAT | os.O_RDWR)
    for i in range(400): os.pwrite(fd, bytes(60000), 0)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
END
burst() { fsshim capture d -o "$1" --content full --ring 1ms --on-overflow "$2" -- sh -c 'head -c 60000 /dev/urandom >d/seed; python3 burst.py'; }
check "waiting for room loses nothing" burst wait.zst wait
check "all writes are there" eval 'test "$(fstrace dump --op write wait.zst | grep -c "length 60000")" -ge 1600'
status=0
burst drop.zst drop 2>drop.err || status=$?
dropped=$(fstrace info --json drop.zst | value 'd["closing"]["dropped"]')
check "the closing statement and the exit status agree about drops" test "$status" = $((dropped > 0)) -a "$dropped" -ge 0
writes=$(fstrace dump --op write drop.zst | grep "length 60000" | grep -vc unfinished)
check "dropped and recorded writes are all there were" test $((writes + dropped)) -ge 1600

# --- rings last for a time, not for an amount: the writer of the trace, and no other thread, stands still for half a second, until a
# call waits, or while a program writes
cat >halt.py <<'END'
import ctypes, mmap, os, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
pid, until_one_waits, program = int(sys.argv[1]), sys.argv[2:] == ["until-one-waits"], sys.argv[3:]
writer = [int(t) for t in os.listdir(f"/proc/{pid}/task") if os.sched_getscheduler(int(t)) == os.SCHED_BATCH]
assert len(writer) == 1, writer
assert libc.ptrace(SEIZE, writer[0], 0, 0) == 0 and libc.ptrace(INTERRUPT, writer[0], 0, 0) == 0, ctypes.get_errno()
os.waitpid(writer[0], WALL)
if program:
    subprocess.run(program, check=True)
    libc.ptrace(DETACH, writer[0], 0, 0)
    sys.exit(0)
shared = mmap.mmap(-1, 4096)
calls = lambda: struct.unpack_from("q", shared)[0]
child = os.fork()
if child == 0:
    n = 0
    while shared[8] == 0:
        os.stat("d/last")
        n += 1
        struct.pack_into("q", shared, 0, n)
    os._exit(0)
end, last = time.monotonic() + (20 if until_one_waits else 0.5), -1
while time.monotonic() < end and (not until_one_waits or calls() != last):
    last = calls()
    time.sleep(0.5)
shared[8] = 1
libc.ptrace(DETACH, writer[0], 0, 0)
os.waitpid(child, 0)
print(calls())
END
halted() { # TIME [until-one-waits]: a capture with such rings, halted after some load; stats then made in $stats
  start d "halt.$1.zst" --ring "$1" -v --cache none
  python3 -c 'import os, time
end = time.monotonic() + 0.5
while time.monotonic() < end: os.stat("d/last")'
  fsshim list --json >"halt.$1.json"
  fsshim list >"halt.$1.list"
  stats=$(python3 halt.py "$capture" ${2+"$2"})
  fsshim stop d
  wait "$capture" || not_ok "halt $1" "$(cat "halt.$1.zst.err")"
}
touch d/last
halted 2s
check "rings of 2 s bridge half a second: $stats calls while nothing is written, none waits" eval '
  test "$(fstrace info --json halt.2s.zst | value "d[\"closing\"][\"waited\"]")" = 0 && test "$stats" -gt 1000'
check "all of them are in the trace" test "$(fstrace dump --op getattr halt.2s.zst | wc -l)" -ge "$stats"
check "list says how long the rings last" eval 'grep -Eq "[0-9]+% of [0-9.]+ (s|min)" halt.2s.list &&
  test "$(value "[c[\"ring_time\"] >= 2e9 and c[\"ring_bytes\"] >= 64 << 20 for c in d if c[\"pid\"] == $capture]" <halt.2s.json)" = "[True]"'
check_status "so do the capture" 0 "at the highest load of this capture, .*/s, the rings .* are full after [0-9.]+ (s|min)" cat halt.2s.zst.err
check_status "and the trace" 0 "rings for [0-9.]+ (s|min).* of the highest load" fstrace info halt.2s.zst
halted 1ms until-one-waits
check "rings of 1 ms do not, and the waits are counted" test "$(fstrace info --json halt.1ms.zst | value 'd["closing"]["waited"]')" -gt 0
check "all calls are in the trace all the same" test "$(fstrace dump --op getattr halt.1ms.zst | wc -l)" -ge "$stats"
start d gap.zst --content full --ring 1ms --on-overflow drop
until_dropped='for i in $(seq 50); do python3 burst.py; fsshim list --json | grep -Eq "\"dropped\": *[1-9]" && exit 0; done'
touch d/before && python3 halt.py "$capture" while sh -c "$until_dropped"
fsshim stop d >/dev/null
ends_with "what was dropped makes a capture fail" 1
gap=$(fstrace verify --json gap.zst | value '[(p["from"], p["to"]) for p in d["problems"] if "not recorded" in p["what"]]')
end=$(fstrace info --json gap.zst | value 'd["closing"]["end"]')
cat >within.py <<'END'
import ast, json, sys
spans, end = ast.literal_eval(sys.argv[1]), int(sys.argv[2])
before = [o["start"] for o in map(json.loads, sys.stdin) if o["kind"] == "create" and o.get("name") == "before"]
sys.exit(not (spans and before[0] <= spans[0][0] and all(a < b for a, b in spans) and spans[-1][1] <= end))
END
check "verify knows when operations were dropped" eval 'fstrace dump --json gap.zst | python3 within.py "$gap" "$end"'
check_status "and says it, with how many" 1 "gap.zst: [0-9,]+ operations were not recorded; .* between .* and " fstrace verify gap.zst
check_status "rings are a time" 2 "ring" fsshim capture d --ring 4M -- true
check_status "not any time" 2 "expected 1ms to 60s" fsshim capture d --ring 2h -- true

# --- filters
check "only some processes and kinds" fsshim capture d -o only.zst --only process=python3 --only op=create,write -- sh -c 'echo x >d/sh; python3 files.py 5'
check "others are not in it" eval 'test "$(fstrace dump only.zst | grep -Ev "/python3 (create|write) " | wc -l)" = 0 && test "$(fstrace dump only.zst | wc -l)" -ge 10'
check_status "info counts what was left out" 0 "^filtered +--only process=python3 --only op=create,write: [0-9]+ operations left out" fstrace info only.zst
check "by kind" eval 'test "$(fstrace info --json only.zst | value "d[\"closing\"][\"filtered\"][\"lookup\"]")" -ge 5'
check_status "the replayer says that the capture was filtered" 0 "warning: the capture was filtered" fsreplay -q --timing asap only.zst filtered
check "paths can be excluded" fsshim capture d -o paths.zst --exclude 'path=*.tmp' --exclude 'path=no*' -- sh -c 'mkdir -p d/sub; echo x >d/sub/a.tmp; echo x >d/sub/b; cat d/sub/a.tmp'
check "they are not in it" eval 'fstrace dump paths.zst | grep "create sub/b" >/dev/null && ! fstrace dump paths.zst | grep "a\.tmp" >/dev/null'
check_status "a filter that makes no sense" 2 "op=fly: no such kind" fsshim capture d --only op=fly -- true
check_status "a size that makes no sense" 2 "max-size" fsshim capture d --max-size much -- true
check_status "keep without rotate" 2 "requires --rotate" fsshim capture d --keep 3 -- true
check "the clock is in the trace" eval 'fsshim capture d -o clock.zst --clock 1us -- cat d/last && test "$(fstrace info --json clock.zst | value "d[\"header\"][\"clock_unit\"], all(o % 1000 == 0 for o in [d[\"first_start\"]])")" = "1000 True"'
