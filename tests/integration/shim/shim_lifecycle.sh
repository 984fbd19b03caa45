#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How captures start, end, and refuse to start.
. "$(dirname "$0")/../harness/common.sh"
. "$(dirname "$0")/../harness/capture_helpers.sh"

mkdir d
echo before >d/file

# --- endings, over-mount
start d int.zst
cat d/file >/dev/null
kill -INT $capture
ends_with "^C ends with status 0" 0
check "^C unmounts" eval '! mounted d'
check "^C closes the trace" closing int.zst SIGINT
check "its trace verifies" fstrace verify int.zst
check "its trace is a zstd file" zstd -qt int.zst
check "trace and mixfile have mode 0600" eval '[ "$(stat -c %a int.zst int.mix | tr "\n" " ")" = "600 600 " ]'
check "the mixfile counts the read" grep -q "calls  *badcalls" int.mix
check "the read is in the trace" eval 'fstrace dump int.zst | grep -q " read file "'

start d term.zst
kill -TERM $capture
ends_with "SIGTERM ends with status 0" 0
check "SIGTERM closes the trace" closing term.zst SIGTERM

start d umount.zst
umount d
ends_with "umount from outside ends with status 0" 0
check "umount closes the trace" closing umount.zst unmounted

start d stop.zst
check_status "list shows a running capture" 0 "$capture +recording .*$scratch/d -> .*stop.zst" fsshim list
check "list writes Prometheus text" fsshim list --metrics captures.prom
check "its figures are those of the capture" grep -q "^fsshim_operations_total{directory=\"$scratch/d\",pid=\"[0-9]*\"} [0-9]" captures.prom
check "it says that it records, and is whole" sh -c 'grep -q "^fsshim_recording{directory=\"$1/d\".*} 1$" captures.prom && tail -n 1 captures.prom | grep -qx "# EOF"' sh "$scratch"
mkdir d/timed
listed() { fsshim list --json | python3 -c "import json, sys; print(*(c['latency']['mkdir']['$1'] for c in json.load(sys.stdin) if c['pid'] == $capture))" 2>/dev/null; }
check "latencies by kind of operation" eval 'for i in $(seq 100); do [ "$(listed count)" != 1 ] || break; sleep 0.1; done; [ "$(listed count)" = 1 ]'
slowest=$(listed max_ns)
check "as a summary, too" eval 'fsshim list --metrics captures.prom && grep -q "^fsshim_latency_seconds_count{directory=\"$scratch/d\",pid=\"$capture\",kind=\"mkdir\"} 1$" captures.prom'
check_status "Prometheus text that can't be written" 2 'no/such.prom: No such file' fsshim list --metrics no/such.prom
check_status "a second capture is refused" 2 "already captured" fsshim capture d -o second.zst
check_status "a capture inside a captured tree is refused" 2 "already captured" fsshim capture d -o second.zst -- true
check "the refused capture left no file" eval '! ls second.* 2>/dev/null'
check_status "stop ends the capture" 0 "stopped: [0-9]+ operations" fsshim stop d
ends_with "stopped ends with status 0" 0
check "stop closes the trace" closing stop.zst "fsshim stop"
check "the trace has the same latency" test "$((slowest / 1000))" -le "$(($(fstrace sql --csv stop.zst "select duration from ops where op = 'mkdir'" | tail -n 1) / 1000 + 1))"
mkdir d2
check_status "standard output where messages go, too, is no trace file" 2 'would get into the trace' fsshim capture d2 -o - -- true
check "nothing was made of it" test ! -e ./-
check_status "root without CAP_SYS_ADMIN is told what it lacks" 2 'lacks CAP_SYS_ADMIN' \
  setpriv --bounding-set -sys_admin --inh-caps -sys_admin fsshim capture d2 -o e.zst -- true
check_status "a /dev/fuse that is none" 2 '/dev/fuse is not the kernel.s FUSE device' \
  unshare -m sh -c 'mount --bind /dev/null /dev/fuse && exec fsshim capture d2 -o e.zst -- true'
mkdir -p root/usr root/proc root/dev root/built root/d root/run
for link in bin sbin lib lib64; do ln -s usr/$link root/$link; done
cat >in_chroot.sh <<'END'
set -e
[ -z "$1" ] || mount --bind root root
for place in usr proc dev; do mount --rbind /$place root/$place; done
mount --bind "$(dirname "$(command -v fsshim)")" root/built
# Options of sanitizers name files that are not there.
exec env -u ASAN_OPTIONS -u UBSAN_OPTIONS -u TSAN_OPTIONS chroot root /built/fsshim capture /d -o /chroot.zst -- touch /d/file
END
check_status "a chroot whose root is no mount point: the remedy is named" 2 'not in /proc/self/mountinfo.*mount --bind ROOT ROOT' \
  unshare -m sh in_chroot.sh
check "nothing was made of it" test ! -e root/chroot.zst
check_status "and it helps" 0 '[1-9] operations' unshare -m sh in_chroot.sh point
check_status "a command without --" 2 'ls: unexpected argument; a command follows --' fsshim capture d -o second.zst ls
check_status "stop of nothing" 1 "not captured" fsshim stop d
# In a /run of its own: others may capture on this machine.
check_status "list of nothing" 0 "no captures" unshare -m sh -c "mount -t tmpfs none /run && fsshim list"

# --- open files survive the end of the capture
start d open.zst
exec 5<>d/held
echo one >&5
kill -INT $capture
wait_for closing open.zst SIGINT
check "the mount is gone while a file is open" eval '! mounted d'
echo two >&5
check "the open file still works" eval '[ "$(cat d/held)" = "one
two" ]'
exec 5>&-
ends_with "closing it ends the capture" 0
start d cut.zst
exec 5<>d/held
kill -INT $capture
wait_for closing cut.zst SIGINT
kill -INT $capture
ends_with "a second ^C cuts open files off" 0
exec 5>&-

# --- so does a copy of the mount
start d copied.zst
unshare -m sh -c 'cat d/file; echo ready >copied; exec sleep 60' &
other=$!
wait_for test -s copied
kill -INT $capture
wait_for closing copied.zst SIGINT
check "a mount namespace made meanwhile is served on" eval '! mounted d && [ "$(nsenter -t $other -m cat "$PWD/d/file")" = before ]'
kill $other
ends_with "its end ends the capture" 0

# --- the way to the mount changes
mkdir -p up/inner
echo inner >up/inner/file
start up/inner inner.zst
inner=$capture
start up outer.zst
outer=$capture
check_status "the inner of nested captures is stopped first" 0 "stopped" fsshim stop up/inner
check "its mount is gone, though the outer one hides it" eval '! mounted up/inner'
check_status "then the outer one" 0 "stopped" fsshim stop up
check "the directories are as before" eval '! mounted up && [ "$(cat up/inner/file)" = inner ]'
wait $outer $inner
start up/inner inner2.zst
start up outer2.zst
check_status "the outer of nested captures is stopped first" 0 "stopped" fsshim stop up
check "the inner one goes on" eval 'mounted up/inner && cat up/inner/file'
check_status "then the inner one" 0 "stopped" fsshim stop up/inner
check "the directories are as before again" eval '! mounted up && ! mounted up/inner && [ "$(cat up/inner/file)" = inner ]'

start up/inner renamed.zst
mv up moved
check_status "a capture whose path was renamed is stopped" 0 "stopped" fsshim stop moved/inner
ends_with "and ends" 0
check "its mount is gone" eval '! mounted moved/inner && [ "$(cat moved/inner/file)" = inner ]'
start moved/inner renamed2.zst
mv moved up
kill -9 $capture
wait $capture 2>/dev/null
check "so it is when the process dies" wait_for eval '! mounted up/inner'

start up/inner covered.zst
mount -t tmpfs none up/inner
check_status "a capture that something is mounted over is not called stopped" 1 "still mounted: tmpfs from none" fsshim stop up/inner
check "its trace is complete" closing covered.zst "fsshim stop"
umount up/inner
ends_with "it ends when that is gone" 0
check "and leaves the directory" eval '! mounted up/inner && [ "$(cat up/inner/file)" = inner ]'

# --- signals that were ignored
nohup sh -c 'exec fsshim capture d -o nohup.zst' >/dev/null 2>&1 &
capture=$!
own_process $capture
wait_for mounted d
kill -HUP $capture
kill -INT $capture
sleep 0.5
check "a signal that was ignored at the start stays ignored" mounted d
check_status "and the capture is stopped otherwise" 0 "stopped" fsshim stop d
ends_with "with status 0" 0
nohup fsshim capture d -o nohup2.zst -- sh -c 'kill -HUP $$; exec env --list-signal-handling true' >ignored.txt 2>&1
check "its command ignores it, too" grep -q 'HUP.*IGNORE' ignored.txt
env --ignore-signal=CHLD,PIPE fsshim capture d -o chld.zst -- env --list-signal-handling sh -c 'exit 5' >ignored.txt 2>&1
check "ignored signals of children and pipes are given back" test "$?:$(grep -c 'CHLD.*IGNORE\|PIPE.*IGNORE' ignored.txt)" = 5:2

# --- the process dies
start d killed.zst
for i in $(seq 300); do echo $i >d/f$i; done
sleep 1.3
kill -9 $capture
wait $capture 2>/dev/null
check_status "stop after kill -9 heals the directory" 0 "died" fsshim stop d
check "the directory is usable again" eval '! mounted d && [ "$(cat d/f300)" = 300 ]'
check_status "verify says that the trace was cut" 1 "" fstrace verify killed.zst
check "what was done a second before is readable" eval 'fstrace dump killed.zst >killed.txt; grep -q " create f300 " killed.txt'
rm -f d/f[0-9]*

start d both.zst
children=$(pgrep -P $capture)
kill -9 $children $capture
wait $capture 2>/dev/null
check "nobody left: a dead mount" eval 'mounted d && ! ls d'
check_status "a capture over a dead mount says what to do" 2 "fsshim stop" fsshim capture d -o over-dead.zst
check_status "stop unmounts it" 0 "unmounted" fsshim stop d
check "the directory is usable after that" ls d

# --- command mode
check_status "the command's status is passed through" 7 "" fsshim capture d -o c7.zst -- sh -c "exit 7"
check_status "a killed command gives 128 + signal" 137 "" fsshim capture d -o c137.zst -- sh -c 'kill -9 $$'
check "its trace says so" closing c137.zst "command killed by signal 9"
check "only the command sees the mount" eval 'fsshim capture d -o private.zst -- grep -q " $scratch/d fuse.fsshim" /proc/self/mounts && ! mounted d'
check "a working directory below DIR is captured" eval '(cd d; fsshim capture . -o ../cwd.zst -- sh -c "echo x >made-here") && fstrace dump cwd.zst | grep -q "create made-here"'
check_status "a command that can't be executed" 126 "d: Permission denied" fsshim capture d -o nocmd.zst -- ./d
check_status "a command that does not exist" 127 "no-such-command: No such file" fsshim capture d -o nocmd.zst -- no-such-command
check "it left no trace" eval '! ls nocmd.* 2>/dev/null'
mkdir there
check "default name and place" eval '(cd there; fsshim capture ../d -- true) && ls there | grep -Eq "^d-[0-9]{8}T[0-9]{6}Z.zst$"'
check "descriptor limit and umask are the caller's own" eval '[ "$( (ulimit -n 300; umask 031; fsshim capture d -o lim.zst -- sh -c "ulimit -n; umask") | tr "\n" " ")" = "300 0031 " ]'
fsshim capture d -o sig.zst -- sh -c 'trap "echo got >sig.txt; exit 3" TERM; touch sig.ready; while :; do sleep 0.05; done' 2>/dev/null &
capture=$!
wait_for test -e sig.ready
kill -TERM $capture
ends_with "SIGTERM goes to the command" 3
check "the command saw it" grep -q got sig.txt
started=$SECONDS
check "a process left behind does not hold the capture for ever" fsshim capture d -o left.zst -- sh -c 'sleep 60 <d/file >/dev/null 2>&1 & echo $! >left.pid'
check "it ended soon" test $((SECONDS - started)) -lt 20
kill "$(cat left.pid)"
# Mounts elsewhere wake the capture up.
mkdir elsewhere
(while mount -t tmpfs none elsewhere && umount elsewhere; do :; done) &
mounting=$!
own_process $mounting
check "the time for what a command leaves behind does not run faster beside mounts" eval 'fsshim capture d -o beside.zst -- sh -c "(for i in 1 2 3 4 5; do sleep 0.5; echo \$i; done >d/beside 2>/dev/null) & exit 0" && [ "$(tail -n 1 d/beside)" = 5 ]'
kill $mounting
wait $mounting 2>/dev/null
mountpoint -q elsewhere && umount elsewhere
check "a grandchild that ends in time is captured" eval 'fsshim capture d -o late.zst -- sh -c "(sleep 0.5; echo late >d/late) & exit 0" && fstrace dump late.zst | grep -q "create late"'
check "all operations are there" eval 'fsshim capture d -o count.zst -- sh -c "for i in \$(seq 500); do echo >d/n; done" && [ "$(fstrace dump count.zst | grep -c " write n ")" = 500 ]'
fsshim capture d -o names.zst -- sh -c 'echo >"d/a
b\\c"' 2>/dev/null
check "a path in JSON is not escaped twice" eval 'fstrace dump --json names.zst | python3 -c "
import json, sys
assert \"a\nb\\\\c\" in {json.loads(line).get(\"path\") for line in sys.stdin}"'
check "content is recorded on request" eval 'fsshim capture d -o full.zst --content full -- sh -c "echo some-content-here >d/c" && zstdcat full.zst | grep -aq some-content-here'
check "content is not recorded without request" eval 'fsshim capture d -o none.zst -- sh -c "echo some-content-here >d/c" && ! zstdcat none.zst | grep -aq some-content-here'

limited() { (ulimit "$1" 40; fsshim capture d -o "$2" -- sh -c 'i=0; while [ $i -lt 20000 ]; do echo >d/n; i=$((i + 1)); done'); }
check_status "a file size limit ends the recording, not the application" 1 "File too large" limited -f limit.zst
check_status "its trace says what is missing" 1 "" fstrace verify limit.zst
check "its mixfile is there" grep -q calls limit.mix
check_status "a soft file size limit is the command's alone" 0 "" limited -Sf soft.zst
check "that trace is complete" fstrace verify soft.zst
(cd d && exec sleep 30) &
own_process $!
sleep 0.1
fsshim capture d -o closed.zst -- sh -c 'echo x >d/n' <&- >&- 2>&-
check "messages do not go into a trace that got the number of a closed stderr" fstrace verify closed.zst
start d deleted.zst
kill -9 $capture
wait $capture 2>/dev/null
wait_for eval '! mounted d'
mv d d-moved
check_status "a capture that died is forgotten without its directory, too" 0 "died" fsshim stop d
mv d-moved d

# --- lock requests that wait at the end
mkdir locked
for i in 1 2 3; do
  start locked locked$i.zst
  flock locked/l sh -c 'touch locked.held; exec sleep 60' 2>/dev/null &
  waiters=$!
  wait_for test -e locked.held
  for n in $(seq 20); do flock locked/l true 2>/dev/null & waiters="$waiters $!"; done
  wait_for eval '[ "$(ls /proc/$capture/task | wc -l)" -gt 22 ]'
  fsshim abort locked >/dev/null
  ends_with "lock requests under way at an abort ($i) end with the capture" 0
  kill $waiters 2>/dev/null
  rm locked.held
done

# --- who comes when a capture starts or ends
stopped_late() { start d late-stop$1.zst; kill -TERM $capture; fsshim stop d >late-stop.txt 2>&1; wait $capture && ! grep "kill -9" late-stop.txt; }
check "stop of a capture that is just ending" eval 'for i in $(seq 8); do stopped_late $i || exit 1; done'
mkdir apart
unmounts() { mount -t tmpfs none apart && start apart apart$1.zst && fsshim stop apart && umount apart && wait $capture; }
check "a file system can be unmounted when stop has returned" eval 'for i in $(seq 5); do unmounts $i || exit 1; done'
mkdir twice
one_of_two() {
  fsshim capture twice -o twice-a$1.zst 2>twice-a.err & a=$!
  fsshim capture twice -o twice-b$1.zst 2>twice-b.err & b=$!
  wait_for eval '[ "$(grep -l "already captured" twice-?.err | wc -l)" = 1 ]' && wait_for mounted twice
  one=$?
  fsshim stop twice >/dev/null
  mounted twice && fsshim stop twice >/dev/null
  wait $a $b
  return $one
}
check "of two captures that start at once, one is refused" eval 'for i in $(seq 3); do one_of_two $i || exit 1; done'
mkdir gone
check_status "a trace that was removed" 1 "gone/r.zst: not complete: removed during the capture" fsshim capture d -o gone/r.zst -- rm gone/r.zst
check_status "a trace whose directory was removed" 1 "removed during the capture" fsshim capture d -o gone/t.zst -- rm -r gone

# --- refusals
check_status "a /proc of another pid namespace" 2 "/proc belongs to another pid namespace" unshare -p -f fsshim capture d -o proc.zst -- true
check "a pid namespace with its own" unshare -p -f --mount-proc fsshim capture d -o proc.zst -- cat d/file
check_status "missing directory" 2 "no: No such file" fsshim capture no
check_status "not a directory" 2 "Not a directory" fsshim capture d/file
check_status "output exists" 2 "int.zst, int.mix: exist already" fsshim capture d -o int.zst -- true
check "the existing trace is untouched" fstrace verify int.zst
touch other.mix
check_status "mixfile exists" 2 "other.mix: exists already" fsshim capture d -o other.zst -- true
check "no trace is left then" eval '! test -e other.zst'
check_status "output inside DIR" 2 "inside the captured directory" fsshim capture d -o d/t.zst -- true
mkdir -p d/deep/er
check_status "output deep inside DIR" 2 "inside the captured directory" fsshim capture d -o d/deep/er/t.zst -- true
ln -s d/deep shortcut
check_status "output inside DIR by another path" 2 "inside the captured directory" fsshim capture d -o shortcut/t.zst -- true
check_status "default output inside DIR" 2 "inside the captured directory" sh -c 'cd d && fsshim capture . -- true'
check_status "output directory missing" 2 "No such file" fsshim capture d -o nowhere/t.zst -- true
check_status "no directory given" 2 "DIR" fsshim capture
check_status "unknown option" 2 "" fsshim capture d --frobnicate
check_status "bad clock" 2 "clock" fsshim capture d --clock 5ns -- true
check_status "nothing after --" 2 "command" fsshim capture d --
check_status "a missing fuse device" 2 "/dev/fuse" unshare -m sh -c 'mount -t tmpfs none /dev && fsshim capture d -o nodev.zst -- true'
check "nothing is left of that" eval '! ls nodev.* 2>/dev/null'
chmod 755 "$scratch"
check_status "no right to mount over" 2 "run as root" setpriv --reuid 65534 --regid 65534 --clear-groups fsshim capture d
check_status "no right to /dev/fuse" 2 "permission for /dev/fuse" unshare -m sh -c 'cp -a /dev/fuse fuse && chmod 600 fuse && mount --bind fuse /dev/fuse && exec setpriv --reuid 65534 --regid 65534 --clear-groups fsshim capture d -o /tmp/never.zst -- true'

# --- who bypasses
(cd d && exec sleep 30) &
own_process $!
sleep 0.1
check_status "processes that bypass the capture are named" 0 "not seen.* $! sleep" fsshim capture d -o notseen.zst -- true
check "and stand in the header" eval 'fstrace info --json notseen.zst | grep -q "$! sleep"'
