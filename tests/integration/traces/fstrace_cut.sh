#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces made out of others by fstrace cut, filter, merge and convert are whole, say what was done to them, and replay by themselves.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"
apps=$FSR_SOURCE/tests/apps
make_trace=$FSR_BUILD/tests/bench/make_trace

operations() { fstrace info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["operations"])'; }
# replays NAME TRACE [EXPRESSION]: verified, then replayed one at a time, all of it as recorded or as the expression on the report says.
replays() {
  check "$1: verifies" fstrace verify "$2"
  fsreplay "$2" "$2.tree" --timing asap --order strict -q --json >"$2.json" 2>"$2.err"
  check_report "$1: replays" "$2.json" "r['issued'] == $(operations "$2") and r['violations'] == 0" \
    "${3:-r['matched'] == r['issued']}"
}

"$apps/make-input" input || exit 1
for app in git tar; do
  mkdir "$app"
  fsshim capture "$app" -o "$app.zst" -- sh -c "cd $app && $apps/run $app $scratch/input" 2>/dev/null || exit 1
done
whole=$(operations git.zst)
half=$(fstrace dump --json git.zst | python3 -c '
import json, sys
starts = [json.loads(line)["start"] for line in sys.stdin]
print(starts[len(starts) // 2])')

check "cut: the first half" fstrace cut --to "${half}ns" git.zst -o first.zst
check "cut: the second half" fstrace cut --from "${half}ns" git.zst -o second.zst
[ $(($(operations first.zst) + $(operations second.zst))) = "$whole" ] && ok "the halves make the whole" ||
  not_ok "the halves make the whole" "$(operations first.zst) + $(operations second.zst), not $whole"
check_status "a cut trace says so" 0 "^edited +cut --from ${half}ns of trace [0-9a-f-]{36}$" fstrace info second.zst
replays "the first half" first.zst
replays "the second half" second.zst
check "the second half leaves the tree that the whole left" "$apps/compare-trees" --ignore .fsreplay git second.zst.tree
cat > same_clock.py <<'P'
import json, subprocess, sys
def ops(name):
    epoch = json.loads(subprocess.check_output(["fstrace", "info", "--json", name]))["header"]["epoch"]
    lines = subprocess.check_output(["fstrace", "dump", "--json", name]).splitlines()
    return [dict(o, start=o["start"] + epoch, seq=0) for o in map(json.loads, lines)]
sys.exit(ops("first.zst") + ops("second.zst") != ops("git.zst"))
P
check "both halves hold the same operations at the same wall clock, under the same names" python3 same_clock.py
# A process waits for a lock of another when the cut begins.
cat > waits.log <<'L'
1 1.000000 openat(AT_FDCWD, "/w/f", O_RDWR|O_CREAT, 0644) = 3 <0.000010>
2 1.100000 openat(AT_FDCWD, "/w/f", O_RDWR) = 3 <0.000010>
1 1.200000 fcntl(3, F_SETLKW, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=1}) = 0 <0.000010>
2 1.300000 fcntl(3, F_SETLKW, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=1} <unfinished ...>
1 1.400000 write(3, "x", 1) = 1 <0.000010>
1 1.500000 fcntl(3, F_SETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=1}) = 0 <0.000010>
2 1.500020 <... fcntl resumed>) = 0 <0.200020>
2 1.600000 write(3, "x", 1) = 1 <0.000010>
L
fstrace import waits.log --directory /w -o waits.zst >/dev/null
fstrace cut --from 350ms waits.zst -o waits.cut.zst >/dev/null
replays "a cut while a process waits for a lock" waits.cut.zst
check "a cut of a cut" fstrace cut --from 10ms second.zst -o third.zst
replays "a cut of a cut" third.zst
[ "$(fstrace info third.zst | grep -c '^edited')" = 2 ] && ok "each edit is told" || not_ok "each edit is told" "$(fstrace info third.zst)"

check "convert --archive" fstrace convert --archive git.zst -o small.zst
check "convert --level" fstrace convert --level 1 git.zst -o large.zst
[ "$(stat -c %s small.zst)" -lt "$(stat -c %s large.zst)" ] && [ "$(stat -c %s small.zst)" -lt "$(stat -c %s git.zst)" ] &&
  ok "levels differ in size" || not_ok "levels differ in size" "$(stat -c '%n %s' small.zst git.zst large.zst | tr '\n' ' ')"
for made in small large; do
  cmp -s <(fstrace dump --json git.zst) <(fstrace dump --json $made.zst) && ok "convert keeps every operation ($made)" ||
    not_ok "convert keeps every operation ($made)" "$(diff <(fstrace dump git.zst) <(fstrace dump $made.zst) | head -n 3)"
done
golden=$FSR_SOURCE/tests/data/golden-v1.zst
fstrace convert "$golden" -o golden.zst >/dev/null
cmp -s <(fstrace dump --json "$golden") <(fstrace dump --json golden.zst) && ok "convert keeps members of every kind" ||
  not_ok "convert keeps members of every kind" "$(diff <(fstrace dump --json "$golden") <(fstrace dump --json golden.zst) | head -n 3)"

process=$(fstrace stat --by process --json git.zst | python3 -c 'import json, sys; print(json.load(sys.stdin)["groups"][1]["pid"])')
n=0
for selection in "--op read,write" "--op unlink,rename" "--path work/.git/* --from ${half}ns" "--process sh,run" "--op getattr"; do
  n=$((n + 1))
  read -ra words <<<"$selection"
  check "filter $selection" fstrace filter "${words[@]}" git.zst -o "filter$n.zst"
  replays "filter $selection" "filter$n.zst"
done
check_status "filter: what was selected is all there" 0 \
  "^read +$(fstrace stat --csv --op read git.zst | tail -n 1 | cut -d, -f2 | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') " fstrace stat filter1.zst
check "filter --process" fstrace filter --process "$process" git.zst -o process.zst
replays "filter --process" process.zst

check_status 'merge without traces' 2 'FILES is required: the traces, client 1 first' fstrace merge
check_status 'merge of one trace' 2 'FILES: expected at least 2, found 1' fstrace merge git.zst -o one.zst
check "merge: apart" fstrace merge --align start --apart git.zst tar.zst git.zst --offset 2=+20ms --offset 3=-1ms -o apart.zst
replays "merge: apart" apart.zst
for tree in git:1 tar:2 git:3; do
  check "client ${tree#*:} has its own tree" "$apps/compare-trees" "${tree%:*}" "apart.zst.tree/client-${tree#*:}"
done
cat > merged.py <<'P'
import json, subprocess
def ops(name):
    return [json.loads(line) for line in subprocess.check_output(["fstrace", "dump", "--json", name]).splitlines()]
merged, git, tar = ops("apart.zst"), ops("git.zst"), ops("tar.zst")
starts = [o["start"] for o in merged]
assert starts == sorted(starts)
for client, original, offset in ((1, git, 1_000_000), (2, tar, 21_000_000), (3, git, 0)):
    mine = [o for o in merged if o["client"] == client]
    assert [(o["start"], o["kind"], o.get("name")) for o in mine] == \
        [(o["start"] + offset, o["kind"], o.get("name")) for o in original], client
# The numbers of each client's objects and open instances are its own.
for member in ("object", "handle", "thread"):
    seen = {}
    for o in merged:
        if o.get(member):
            assert seen.setdefault(o[member], o["client"]) == o["client"], o
P
check "merge: order, offsets, identities" python3 merged.py

# Two clients of one directory at once: what one makes and the other opens is one file.
mkdir shared
fsshim capture shared -o a.zst -- sh -c 'cd shared; echo one > common; ln common second; sleep 0.2; cat theirs; echo more >> theirs' >/dev/null 2>&1 &
sleep 0.05
fsshim capture shared -o b.zst -- sh -c 'cd shared; echo two > theirs; sleep 0.3; cat common second; rm common' >/dev/null 2>&1
wait $!
check "merge: two clients of one directory" fstrace merge a.zst b.zst -o both.zst
cat > shared.py <<'P'
import json, subprocess
objects = {}
for line in subprocess.check_output(["fstrace", "dump", "--json", "both.zst"]).splitlines():
    o = json.loads(line)
    if o.get("name") in ("common", "theirs") and o.get("object"):
        objects.setdefault(o["name"], set()).add((o["object"], o["client"]))
for name, seen in objects.items():
    assert len({object for object, client in seen}) == 1 and len({client for object, client in seen}) == 2, (name, seen)
assert len(objects) == 2, objects
P
check "merge: clients share files by name" python3 shared.py
replays "merge: two clients of one directory" both.zst

check_status "an output that exists is kept" 2 '^fstrace: first.zst: exists already; give --force' fstrace cut --to 1ms git.zst -o first.zst
check "--force replaces it" fstrace convert --force git.zst -o first.zst
[ "$(operations first.zst)" = "$whole" ] && ok "--force replaced all of it" || not_ok "--force replaced all of it" "$(operations first.zst)"
check_status "nothing in that time" 2 'no operation started in this time' fstrace cut --from 10h git.zst -o none.zst
check_status "nothing matches" 2 'no operation matches --process nobody' fstrace filter --process nobody git.zst -o none.zst
check_status "cut without a time" 2 'expected --from' fstrace cut git.zst -o none.zst
check_status "filter without a selection" 2 'expected --op' fstrace filter git.zst -o none.zst
check_status "no place for the output" 2 '^fstrace: nowhere/none.zst.*No such file' fstrace convert git.zst -o nowhere/none.zst
check_status "an offset that is none" 2 'as in 2=\+1.5ms' fstrace merge git.zst tar.zst --offset 3=1s -o none.zst
head -c $(($(stat -c %s git.zst) * 2 / 3)) git.zst > torn.zst
check_status "a torn trace: what there is is converted, and told" 1 'closing statement missing' fstrace convert torn.zst -o mended.zst
check_status "the result is whole and says what it came from" 1 'fstrace convert; original: ' fstrace verify mended.zst

mkdir locked
cat > locks.py <<'P'
import fcntl, os, time
open("locked/f", "w").close()
for child in range(2):
    if os.fork() == 0:
        for turn in range(3):
            with open("locked/f", "r+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                time.sleep(0.02)
        os._exit(0)
os.wait(), os.wait()
P
fsshim capture locked -o locks.zst -- python3 locks.py 2>/dev/null
check "filter: lock requests" fstrace filter --op setlk locks.zst -o setlk.zst
replays "filter: closes end locks" setlk.zst

fstrace merge --apart --align start git.zst tar.zst -o two.zst >/dev/null && fstrace merge --apart --align start two.zst git.zst -o three.zst >/dev/null
clients=$(fstrace stat --by client --csv three.zst | tail -n +2 | cut -d, -f1,2 | sort | tr '\n' ' ')
[ "$clients" = "1,$whole 2,$(operations tar.zst) 3,$whole " ] && ok "clients of a merged trace stay apart when it is merged again" ||
  not_ok "clients of a merged trace stay apart when it is merged again" "$clients"
for client in 1 2 3; do
  check_status "the header names client $client" 0 "merge: client $client is trace [0-9a-f-]{36} of " fstrace info three.zst
done
fstrace merge --apart --align start git.zst git.zst -o same_pids.zst >/dev/null
fstrace export --format chrome same_pids.zst -o same_pids.json >/dev/null
fstrace export --format strace same_pids.zst -o same_pids.log >/dev/null 2>&1
fstrace import same_pids.log -o back.zst >/dev/null 2>&1
threads=$(fstrace stat --by thread --csv same_pids.zst | tail -n +2 | wc -l)
[ "$(grep -o '"tid":[0-9]*' same_pids.json | sort -u | wc -l)" = "$threads" ] && ok "export chrome: threads of two clients stay apart" ||
  not_ok "export chrome: threads of two clients stay apart" "not $threads"
[ "$(fstrace dump --json back.zst | grep -o '"tid":[0-9]*' | sort -u | wc -l)" = "$(cut -d' ' -f1 same_pids.log | sort -u | wc -l)" ] &&
  [ "$(awk '$1 > 4194304' same_pids.log | wc -l)" -gt 0 ] && ok "export strace: threads of two clients stay apart" ||
  not_ok "export strace: threads of two clients stay apart" "$(cut -d' ' -f1 same_pids.log | sort -u | head -n 5)"

"$make_trace" lossy.zst --ops 20000 --drop 5 || exit 1
lacks='^fstrace: lossy.zst: 6 operations were not recorded, between 1.00 s and 1.50 s$'
for command in stat dump mix "compare lossy.zst" "top --once" "sql" "export --format csv -o lossy.csv" "convert -o same.zst" \
    "cut --from 1200ms --to 1300ms -o within.zst" "cut --to 500ms -o before.zst" "filter --op read --from 500ms -o reads.zst"; do
  arguments=(lossy.zst)
  [ "$command" = sql ] && arguments+=("select 1")
  fstrace $command "${arguments[@]}" >/dev/null 2>lacks.err
  status=$?
  [ $status = 0 ] && grep -q "$lacks" lacks.err && ok "operations that the capture lost are named: $command" ||
    not_ok "operations that the capture lost are named: $command" "status $status: $(cat lacks.err)"
done
fstrace merge lossy.zst lossy.zst --offset 2=+250ms -o merged.zst >/dev/null 2>&1
for copy in "same.zst 1.00 s and 1.50 s" "within.zst 0 ns and 100 ms" "reads.zst 500 ms and 1.00 s" "merged.zst 1.25 s and 1.75 s"; do
  check_status "a copy has the time in which operations were lost: $copy" 1 "5 operations were not .* between ${copy#* } are affected" \
    fstrace verify "${copy%% *}"
done
check_status "a lost operation whose time is not known is kept" 1 "before.zst: 1 operations were not recorded" fstrace verify before.zst

"$make_trace" long.zst --ops 500000 || exit 1
fstrace convert --archive long.zst -o interrupted.zst >/dev/null 2>&1 &
pid=$!
own_process $pid
for _ in {1..100}; do compgen -G 'interrupted.zst*' >/dev/null && break; sleep 0.02; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] && [ -z "$(compgen -G 'interrupted.zst*')" ] && [ -z "$(compgen -G 'none.zst*')" ] && ok "a signal leaves nothing behind" ||
  not_ok "a signal leaves nothing behind" "status $status, $(ls)"
