#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Captures that outlive the terminal: in the background, by mount(8), as a service; and what their death leaves.
. "$(dirname "$0")/../harness/common.sh"
. "$(dirname "$0")/../harness/capture_helpers.sh"

pid_of() { fsshim list --json | python3 -c "import json, sys; print(*[c['pid'] for c in json.load(sys.stdin) if c['directory'] == '$scratch/$1' and c['state'] != 'died'])"; }
mkdir d
echo before >d/file

check_status "--background returns with the process number" 0 "d is captured by process [0-9]+; messages go to .*/back.log" fsshim capture d -o back.zst --background
pid=$(pid_of d)
check "the directory is captured" mounted d
check "the process has its own session and holds no directory" eval 'test "$(ps -o sid= -p $pid | tr -d " ")" = $pid -a "$(readlink /proc/$pid/cwd)" = /'
for i in $(seq 200); do echo $i >d/f$i; done
sleep 1.2
check "list shows live figures" eval 'fsshim list --json | python3 -c "
import json, sys
c = [c for c in json.load(sys.stdin) if c[\"pid\"] == $pid][0]
assert c[\"operations\"] > 800 and c[\"bytes\"] > 400 and c[\"trace_bytes\"] > 1000 and c[\"elapsed\"] > 1e9 and c[\"state\"] == \"recording\", c
assert 0 <= c[\"ring_percent\"] < 100 and c[\"dropped\"] == 0 and c[\"pieces\"] == 1, c
assert c[\"trace\"] == \"$scratch/back.zst\", c"'
check "and a rate" eval 'for i in $(seq 100); do echo $i >d/g$i; sleep 0.01; test "$(fsshim list --json | python3 -c "import json, sys; print(max(c.get(\"rate\", 0) for c in json.load(sys.stdin)))")" -gt 0 && exit 0; done; exit 1'
check_status "stop ends it" 0 "stopped" fsshim stop d
check "the process is gone" wait_for gone $pid
check "the trace is complete" fstrace verify back.zst
check "the log has the last line" grep -q "operations in .* -> back.zst" back.log
check_status "what stops it is told in the foreground" 2 "back.zst, back.mix, back.log: exist already" fsshim capture d -o back.zst --background
check_status "so is what comes later" 2 "missing" unshare -m sh -c 'mount -t tmpfs none /dev && fsshim capture d -o nodev.zst --background'
check "then no file is left" eval '! ls nodev.* 2>/dev/null && ! mounted d'
check_status "not with a command" 2 "background" fsshim capture d -o x.zst --background -- true

# --- kill -9: the directory comes back by itself, nobody hangs, and all but the last second is in the trace
fsshim capture d -o killed.zst --background 2>/dev/null
pid=$(pid_of d)
exec 5>d/held
echo early >d/early
(cd d && exec sleep 60) &
own_process $!
sleep 1.5
echo late >d/late
kill -9 "$pid"
check "the dead mount is taken away" wait_for eval '! mounted d'
check "the directory is usable" eval 'timeout 5 sh -c "echo after >d/after && cat d/early >/dev/null"'
check_status "an open file answers with an error, at once" 1 "endpoint|connected|aborted" timeout 5 bash -c 'echo more >&5'
exec 5>&-
check "the log tells" wait_for grep -q "died; the directory is usable again" killed.log
check "the trace has what came a second before" eval 'grep -q "create early" <(fstrace dump killed.zst 2>/dev/null)'
check_status "another under that name names all files in the way" 2 "killed.zst, killed.mix, killed.log: exist already; give another file with -o, or remove these files" fsshim capture d -o killed.zst --background
check_status "and says that it is cut" 1 "closing statement missing" fstrace verify killed.zst
check_status "list shows that it died" 0 "$pid +died" fsshim list
check_status "stop forgets it" 0 "died" fsshim stop d

# --- a process that does not answer
fsshim capture d -o silent.zst --background 2>/dev/null
pid=$(pid_of d)
kill -STOP "$pid"
check_status "list shows that it is silent" 0 "$pid +silent" timeout 20 fsshim list
check_status "stop says so, without waiting for the directory" 1 "process $pid does not answer" timeout 20 fsshim stop "$scratch/d"
check_status "rotate too" 1 "process $pid: does not answer" timeout 20 fsshim rotate d
kill -9 "$pid"
check "the directory is usable" wait_for eval '! mounted d'
check_status "list shows that it died" 0 "$pid +died" fsshim list
fsshim capture d -o anew.zst --background 2>/dev/null
check "a new capture of the directory takes its place" eval '! fsshim list | grep -q "$pid +died"'
check_status "stop" 0 "stopped" fsshim stop d

# --- mount(8) with what is installed, in a mount namespace where that is in place
check "install" env DESTDIR="$scratch/root" meson install -C "$FSR_BUILD" --no-rebuild --quiet
helper=$(find root -name mount.fuse.fsshim)
unit=$(find root -name 'fsshim@.service')
check "helper and unit are installed" test -x "$helper" -a -s "$unit"
mkdir -p sbin
cp "$helper" sbin/
program=$(sed -n 's/^fsshim=//p' "$helper")
mkdir -p "$(dirname "$program")"
with_helper() {
  unshare -m sh -c 'over() { mount -t overlay overlay -o "lowerdir=$1:$2" "$2"; }
    over "$0/root$2" "$2" && over "$0/sbin" "$(realpath /sbin)" && eval "$1"' "$scratch" "$1" "$(dirname "$program")"
}
check "mount -t fuse.fsshim captures, umount ends it" with_helper '
  mount -t fuse.fsshim '"$scratch"'/mounted.zst '"$scratch"'/d -o rw,noatime,content=full,exclude=op=getattr:statx &&
  grep -q "'"$scratch"'/d fuse.fsshim" /proc/self/mounts && echo by-mount >d/m && umount d &&
  for i in $(seq 100); do test -s mounted.mix && grep -q calls mounted.mix && exit 0; sleep 0.05; done; exit 1'
check "its trace is complete" fstrace verify mounted.zst
check_status "its options were taken" 0 "filtered +--exclude op=getattr,statx" fstrace info mounted.zst
check "the write is in it" eval 'fstrace dump mounted.zst | grep "create m" >/dev/null'
check_status "a wrong option is refused" 2 "frobnicate" with_helper "mount -t fuse.fsshim $scratch/no.zst $scratch/d -o frobnicate=1"
check_status "the source may be a directory" 0 "" with_helper "mkdir traces; mount -t fuse.fsshim $scratch/traces d && umount d && ls traces | grep -q '^d-.*zst'"
wait_for eval '! fsshim list | grep "$scratch/d "'

# --- as a service: readiness is told, and the unit file is one
mkfifo ready
python3 -c "
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind('notify'); s.settimeout(20)
open('bound', 'w').close()
print(s.recv(100).decode())" >notified &
listener=$!
own_process $listener
wait_for test -e bound
NOTIFY_SOCKET=$scratch/notify fsshim capture d -o service.zst 2>/dev/null &
capture=$!
own_process $capture
wait $listener
check "a service manager is told when the directory is captured" grep -q READY=1 notified
check "then it is" mounted d
kill -TERM $capture
ends_with "and SIGTERM ends it" 0
if command -v systemd-analyze >/dev/null; then
  sed "s|$program|$FSR_BUILD/shim/fsshim|" "$unit" >"fsshim@x.service"
  check "systemd accepts the unit" systemd-analyze verify --man=no "./fsshim@x.service"
else
  check "the unit names the commands" grep -q "^ExecStart=.*/fsshim capture %f" "$unit"
fi

# --- names of processes that execute another program
cat >names.py <<'END'
import os, sys, time
os.stat("d/file")
time.sleep(0.02)
os.execvp("sh", ["sh", "-c", "sleep 0.02; : <d/file; exec tail -c 1 d/early"])
END
check "a thread that executes another program has its name from then on" eval 'fsshim capture d -o names.zst -- python3 names.py >/dev/null && fstrace dump names.zst | grep "/python3 .* file" >/dev/null && fstrace dump names.zst | grep "/sh .*open file" >/dev/null'
check "it stays one thread" eval 'fstrace dump --json names.zst | python3 -c "
import json, sys
ops = [json.loads(l) for l in sys.stdin]
threads = {o[\"thread\"] for o in ops if o.get(\"command\") in (\"python3\", \"sh\") and \"tid\" in o}
names = {o[\"command\"] for o in ops}
assert len(threads) == 1 and {\"python3\", \"sh\"} <= names, (threads, names)"'
