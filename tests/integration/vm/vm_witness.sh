#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fsshim capture --via kernel, in a virtual machine with Debian's stock kernel: a program of odd calls is recorded call by call; git, tar
# and SQLite, captured so, replay clean with an equal tree; what a small ring drops is counted; a killed fsshim leaves nothing, and its
# command goes on. Without a command everybody is captured from the start to the stop, and nobody notices either. This machine itself says why it can't, if it can't. With --suite SUITE: the kernel of that Debian suite; with --kills N: so many kills; with
# --limit S: seconds that the machine may take, 1100 and 10 for each kill otherwise.
"$(dirname "$0")/../../vm/fetch-kernel" >/dev/null || exit 1
. "$(dirname "$0")/../harness/common.sh"
suite=() kills=4 limit=1100
while [ $# -gt 0 ]; do
  case $1 in
    --suite) suite=(--suite "$2") ;;
    --kills) kills=$2 limit=$((1100 + 10 * $2)) ;;
    --limit) limit=$2 ;;
  esac
  shift 2
done

mkdir share
echo "$kills" >share/kills
cat >share/applications.sh <<'E'
cd /mnt/d
cat old/read >/dev/null; echo more >>old/append; mv old/name old/renamed; rm old/gone; ln old/read old/twin; cat old/link >/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q --template= repo; cd repo
for i in 1 2 3; do mkdir dir$i; for j in 1 2 3; do echo "file $i $j" >dir$i/file$j; done; done
git add -A; git commit -qm one; git mv dir1 moved; rm dir2/file2; git commit -qam two; git checkout -qb branch HEAD~1; git checkout -q -
cd ..
tar cf archive.tar repo; mkdir unpacked; tar xf archive.tar -C unpacked
sqlite3 base 'create table t(a, b); create index i on t(a);'
for i in 1 2 3; do sqlite3 base "begin; insert into t select random(), hex(randomblob(50)) from (values(1),(2),(3)),(values(1),(2)); commit; delete from t where a % 3 = 0;"; done
sqlite3 base vacuum
E
cat >share/killed.sh <<'E'
cd /mnt/d
touch /tmp/started
i=0
while [ $i -lt 30 ]; do echo $i >count || exit 1; sleep 0.1; i=$((i + 1)); done
touch /tmp/whole
E
cat >job <<'E'
#!/bin/sh
mount -t tmpfs tmp /mnt
mkdir /mnt/d /mnt/odd
tree() { (cd "$1" && find . ! -type d -exec stat -c '%n %F %s %a %h' {} + | sort); }
status() { echo "$1 $2" >>/share/statuses; }

fsshim check /mnt/d >/share/check 2>&1
mkdir /mnt/fuse
fsshim capture /mnt/fuse -o /share/fuse.zst -- odd_calls /mnt/fuse >/share/fuse.list 2>/share/fuse.err; status fuse $?
fsshim capture /mnt/odd --via kernel -o /share/odd.zst -- odd_calls /mnt/odd >/share/odd.list 2>/share/odd.err; status odd $?
fsshim capture /mnt/odd --via kernel -o /share/map.zst -- odd_calls /mnt/odd map >/share/map.list 2>/share/map.err; status map $?
cd /mnt; mkdir lower upper work over; mount -t overlay over -o lowerdir=lower,upperdir=upper,workdir=work over; cd /
fsshim capture /mnt/over --via kernel -o /share/over.zst -- odd_calls /mnt/over map 2>/share/over.err >&2; status over $?
umount /mnt/over
mkdir -p /mnt/gone/d; { while [ ! -e /tmp/in ]; do sleep 0.1; done; rmdir /mnt/gone/d; touch /tmp/out; } &
fsshim capture /mnt/gone --via kernel -o /share/gone.zst -- sh -c \
  'cd /mnt/gone/d; stat . >/dev/null; touch /tmp/in; while [ ! -e /tmp/out ]; do sleep 0.1; done; sleep 1; stat . >/dev/null' 2>/share/gone.err >&2; status gone $?

# A snapshot's files have the inode numbers of those that it is of.
mkdir /mnt/btrfs; mount -t btrfs /dev/vda /mnt/btrfs; cd /mnt/btrfs
btrfs subvolume create one >/dev/null; echo 1 >one/file; btrfs subvolume snapshot one two >/dev/null
fsshim capture /mnt/btrfs --via kernel -o /share/btrfs.zst -- sh -c 'cat one/file two/file >/dev/null; echo more >>two/file; cat one/file >/dev/null' 2>/share/btrfs.err; status btrfs $?
cd /; umount /mnt/btrfs

mkdir /mnt/sockets
mkdir -p /var/log; ln -s /mnt/sockets/log /dev/log; syslogd -n & syslogd=$!
i=0; until [ -S /mnt/sockets/log ] || [ $i = 100 ]; do sleep 0.1; i=$((i + 1)); done
fsshim capture /mnt/sockets --via kernel -o /share/sockets.zst -- logger heard 2>/share/sockets.err; status sockets $?
[ -S /mnt/sockets/log ] && sleep 0.1 && grep -c heard /var/log/messages >/share/heard
kill $syslogd

mkdir /mnt/d/old
for i in read append name gone; do echo $i >/mnt/d/old/$i; done; ln -s read /mnt/d/old/link
fsshim capture /mnt/d --via kernel -o /share/applications.zst -- sh -e /share/applications.sh >/share/applications.err 2>&1
status applications $?
tree /mnt/d >/share/wanted

mkdir /mnt/many
cat >/tmp/many.sh <<'M'
: >/tmp/many.begun
while [ ! -e /tmp/many.go ]; do sleep 0.1; done
i=0; while [ $i -lt 2000 ]; do : >/mnt/many/$i; i=$((i + 1)); done
: >/tmp/many.made
M
# The recorder is halted while the command works.
fsshim capture /mnt/many --via kernel --kernel-ring 64k -o /share/dropped.zst -- sh /tmp/many.sh >/share/dropped.err 2>&1 &
fsshim=$!
while [ ! -e /tmp/many.begun ]; do sleep 0.1; done
kill -STOP $fsshim
: >/tmp/many.go
while [ ! -e /tmp/many.made ]; do sleep 0.1; done
kill -CONT $fsshim
wait $fsshim
status dropped $?
ls /mnt/many | wc -l >/share/made

fsshim capture /mnt/d --via kernel -o /share/killed.zst -- sh /share/killed.sh >/share/killed.err 2>&1 &
fsshim=$!
while [ ! -e /tmp/started ]; do sleep 0.2; done
kill -9 $fsshim
i=0; while [ ! -e /tmp/whole ] && [ $i -lt 200 ]; do sleep 0.2; i=$((i + 1)); done
[ -e /tmp/whole ]; status whole $?
sleep 1; grep -c /mnt/d /proc/self/mounts >/share/mounts
# The end of the process detaches the programs one by one.
i=0; until umount /mnt 2>/dev/null || [ $i = 200 ]; do sleep 0.3; i=$((i + 1)); done
[ $i -lt 200 ]; status unmounted $?
fsshim capture /tmp --via auto -o /share/after.zst -- true 2>/share/after.err; status after $?

# Mounts are shared here, as systemd makes them, so that an unmount inside a copy could reach the original.
mount -t tmpfs tmp /mnt; mount --make-shared /mnt; mkdir -p /mnt/all/sub; mount -t tmpfs sub /mnt/all/sub; echo kept >/mnt/all/sub/file; cd /tmp
mounted() { grep -c ' /mnt/all ' /proc/self/mounts; }
exec 8>/mnt/all/before
mkdir /tmp/aside; mount --bind /mnt/all /tmp/aside; mount --make-private /tmp/aside
fsshim capture /mnt/all --via kernel --background -o /share/all.zst >/share/all.out 2>&1; status all $?
mounted >/share/all.mounts
fsshim capture /mnt/all --via kernel -o /share/second.zst 2>/share/second.err; status second $?
odd_calls /mnt/all wait & waiter=$!
until [ "$(grep -c ' -> ' /proc/locks)" = 2 ]; do sleep 0.1; done
echo captured >/mnt/all/file; cat /mnt/all/file >/dev/null; mv /mnt/all/file /mnt/all/other; echo unseen >&8
exec 9</mnt/all/other
cd /tmp/aside
mkdir d; mkdir d; echo x >f; ln f g; ln -s f s; mv f d/f; mkfifo p; rm g; rmdir d; rm d/f; rmdir d; rm missing p s
# Directories outside, too deep to tell where they lie.
cd /mnt; i=0; while [ $i -lt 300 ]; do mkdir n; cd n; i=$((i + 1)); done
cd /tmp; umount /tmp/aside
fsshim list >/share/all.list 2>&1
fsshim stop /mnt/all >/share/stop.out 2>&1; status stop $?
kill $waiter; killall odd_calls
mounted >>/share/all.mounts
cat /mnt/all/sub/file >/share/sub.kept 2>&1
read -r line <&9; [ "$line" = captured ]; status held $?
echo after >/mnt/all/after
exec 8>&- 9<&-
fsshim capture /mnt/all --via kernel -o /share/interrupted.zst 2>/share/interrupted.err & fsshim=$!
while [ "$(mounted)" = 0 ]; do sleep 0.1; done
kill -TERM $fsshim; wait $fsshim; status interrupted $?  # the shell has SIGINT ignored there

fsshim capture /mnt/all --via kernel -o /share/inside.zst 2>/share/inside.err & fsshim=$!
while [ "$(mounted)" = 0 ]; do sleep 0.1; done
mkdir /mnt/all/new; mount -t tmpfs new /mnt/all/new; echo new >/mnt/all/new/file
kill -TERM $fsshim; wait $fsshim; status inside $?
cat /mnt/all/new/file >/share/new.kept 2>&1
umount /mnt/all/new; umount -l /mnt/all

fsshim capture /mnt/all --via kernel --verbose -o /share/taken.zst 2>/share/taken.err & fsshim=$!
until grep -q ' hooks of the kernel' /share/taken.err; do sleep 0.1; done
echo captured >/mnt/all/taken; umount -l /mnt/all
wait $fsshim; status taken $?

# Also in a mount namespace of its own, as a container has, which no mount over the directory would reach.
mkdir -p /mnt/every/dir /mnt/out /mnt/view
exec 8>/mnt/every/before
fsshim capture /mnt/every --via kernel --everywhere --background -o /share/every.zst >/share/every.out 2>&1; status every $?
grep -c ' /mnt/every ' /proc/self/mounts >/share/every.mounts
unshare -m sh -c 'mount --bind /mnt/every /mnt/view; echo hi >/mnt/view/dir/inner; cat /mnt/view/dir/inner; mv /mnt/view/dir/inner /mnt/view/moved' >/dev/null
echo unseen >&8; echo one >/mnt/every/one; echo two >/mnt/out/two; cat /mnt/out/two /mnt/every/one >/dev/null
mv /mnt/every/one /mnt/out/one; mv /mnt/out/two /mnt/every/two; ln /mnt/every/moved /mnt/every/linked
fsshim stop /mnt/every >>/share/every.out 2>&1; status everystop $?
exec 8>&-

mount -t cgroup2 cgroup /sys/fs/cgroup
pod=/sys/fs/cgroup/kubepods-pod12ab_34cd.slice
mkdir $pod $pod/container /sys/fs/cgroup/other
in_group() { sh -c 'echo $$ >$0/cgroup.procs; exec sh -c "$1"' "$@"; }
# A container that runs before the capture, with the volume at another path.
in_group $pod/container 'exec unshare -m -p -f sh -c "mount -t proc proc /proc; mount --bind /mnt/every /mnt/view; touch /tmp/pod.runs
  until [ -e /tmp/pod.go ]; do sleep 0.1; done; cd /mnt/view; echo in >inside; cat inside two; stat inside"' >/dev/null & container=$!
until [ -e /tmp/pod.runs ]; do sleep 0.1; done
fsshim capture /mnt/every --via kernel --pod 12ab-34cd --exclude op=getattr,read --background --verbose -o /share/pod.zst >/share/pod.out 2>&1; status pod $?
touch /tmp/pod.go; wait $container
in_group /sys/fs/cgroup/other 'echo in >/mnt/every/outside; cat /mnt/every/outside' >/dev/null
echo host >/mnt/every/host
fsshim stop /mnt/every >>/share/pod.out 2>&1; status podstop $?
for bad in '--pod nobody' '--cgroup /nowhere' '--cgroup /' '--cgroup /sys/fs/cgroup' '--everywhere -- true'; do
  fsshim capture /mnt/every --via kernel -o /share/bad.zst $bad 2>>/share/bad.err; status bad $?
done

mkdir /mnt/group
fsshim capture /mnt/group --via kernel --cgroup /other --background -o /share/odd_group.zst >/share/odd_group.out 2>&1
in_group /sys/fs/cgroup/other 'exec odd_calls /mnt/group' >/share/odd_group.list; status odd_group $?
rm /mnt/group/d/f  # its last name, by somebody else
fsshim stop /mnt/group >>/share/odd_group.out 2>&1; status odd_group_stop $?

# What is captured ends, and its name goes to another.
fsshim capture /mnt/every --via kernel --cgroup /other --verbose -o /share/group.zst 2>/share/group.err & fsshim=$!
until grep -q ' hooks of the kernel' /share/group.err; do sleep 0.1; done
until rmdir /sys/fs/cgroup/other; do sleep 0.1; done 2>/dev/null; mkdir /sys/fs/cgroup/other
wait $fsshim; status group $?
fsshim capture /mnt/every --via kernel --everywhere --verbose -o /share/renamed.zst 2>/share/renamed.err & fsshim=$!
until grep -q ' hooks of the kernel' /share/renamed.err; do sleep 0.1; done
mv /mnt/every /mnt/before; mkdir /mnt/every
wait $fsshim; status renamed $?

# Killed at any moment of its start, and every second time while it records.
cat >/tmp/work.sh <<'W'
sqlite3 /mnt/all/base 'pragma journal_mode = wal; create table t(a)' || exit 1
i=0
while [ ! -e /tmp/enough ]; do
  i=$((i + 1)); echo $i >/mnt/all/count && [ "$(cat /mnt/all/count)" = $i ] && sqlite3 /mnt/all/base "insert into t values($i)" || exit 1
done
[ "$(sqlite3 /mnt/all/base 'select count(*), sum(a) from t; pragma integrity_check')" = "$(printf '%s\nok' "$i|$((i * (i + 1) / 2))")" ]
W
sh /tmp/work.sh >/share/work.out 2>&1 & worker=$!
i=0 recorded=0
while [ $i -lt $(cat /share/kills) ]; do
  i=$((i + 1))
  fsshim capture /mnt/all --via kernel --verbose -o /tmp/kill$i.zst 2>/tmp/kill.err & fsshim=$!
  if [ $((i % 2)) = 0 ]; then
    until grep -q ' hooks of the kernel' /tmp/kill.err || ! kill -0 $fsshim; do sleep 0.05; done
  else
    sleep $((i / 2 % 4))
  fi
  sleep 0.$((i / 2 % 10))
  grep -q ' hooks of the kernel' /tmp/kill.err && recorded=$((recorded + 1))
  kill -9 $fsshim || exit 1
  wait $fsshim; rm -f /tmp/kill$i.*
  n=0; until [ "$(mounted)" = 0 ] || [ $n = 200 ]; do sleep 0.05; n=$((n + 1)); done
done
echo $recorded >/share/recorded
: >/tmp/enough; wait $worker; status worker $?
i=0; until [ "$(mounted)" = 0 ] || [ $i = 100 ]; do sleep 0.1; i=$((i + 1)); done
mounted >>/share/all.mounts
exit 0
E
truncate -s 256M disk; mkfs.btrfs -q disk >/dev/null 2>&1
"$FSR_SOURCE/tests/vm/run" "${suite[@]}" --in-turn --module btrfs --module overlay --disk disk --program "$(command -v btrfs)" --share share --timeout $limit --program "$FSR_BUILD/shim/fsshim" \
  --program "$FSR_BUILD/tests/integration/odd_calls" --program "$(command -v git)" --program "$(command -v sqlite3)" job ||
  not_ok "the guest's job" "ended with $?"

ended() { check_status "$1" 0 "^$2 $3\$" cat share/statuses; }
lines() { fstrace dump "$1" | grep -v ' lookup .* inferred '; }

ended 'odd calls: status' odd 0
by_kind() { lines "$1" | awk '{print $5}' | sort | uniq -c | awk '{print $2, $1}'; }
check 'odd calls: each is recorded, and no other' diff <(sort share/odd.list) <(by_kind share/odd.zst)
check 'odd calls: an exchange with a name that is missing' sh -c "fstrace dump share/odd.zst | grep -q ' lookup d/nobody .*inferred = ENOENT'"
check 'odd calls: the trace is complete' fstrace verify share/odd.zst
check_status 'odd calls: the length of many buffers' 0 ' read .*7000' fstrace dump share/odd.zst
[ "$(uname -m)" != x86_64 ] || check_status "odd calls: the length of a 32-bit program's buffers" 0 ' read .*8010' fstrace dump share/odd.zst
check_status 'odd calls: what sendfile wrote' 0 ' write copy .*6950' fstrace dump share/odd.zst
access_lists() { fstrace dump --json "$1" | grep '"setxattr".*posix_acl_access' | grep -o '"data":"[^"]*"'; }
check 'odd calls: an access list is recorded with its value, as FUSE has it' diff <(access_lists share/fuse.zst) <(access_lists share/odd.zst)
check 'odd calls: and this twice' test "$(access_lists share/odd.zst | grep -c 0007)" = 2
check_status 'odd calls: the header tells the transport' 0 'kernel hooks' fstrace info share/odd.zst
check_status 'odd calls: what is not seen is told' 0 'loads and stores of [0-9]+ mappings, but for page faults' fstrace info share/odd.zst
refused=$(lines share/odd.zst | grep -cE ' (create|open|access|unlink) .*= EACCES')
ended 'mappings: status' map 0
fstrace dump share/map.zst | sed -nE 's/.* (read|write) mapped .* offset ([0-9]+) length .* kernel = ([0-9]+)$/\1 \2 \3/p' >map.got
check 'mappings: page faults are reads and writes' diff share/map.list map.got
ended 'overlay: status' over 0
check_status 'overlay: no page fault is of a nameless file' 1 '' sh -c 'fstrace dump share/over.zst | grep -E " (read|write) #"'
[ ${#suite[@]} != 0 ] || check_status 'overlay: page faults are told' 0 'up to [0-9]+ page faults' fstrace info share/over.zst
ended 'btrfs: status' btrfs 0
ended 'removed by others: status' gone 0
check_status 'removed by others: a working directory stays the same' 0 '^1 1$' \
  sh -c 'fstrace dump share/gone.zst | awk "/ lookup d / {n++} / getattr d /{seen[\$7] = 1} END {for (i in seen) m++; print n, m}"'
check_status 'btrfs: a file of a snapshot is another one' 0 'write two/file' fstrace dump share/btrfs.zst
if [ "$refused" = 4 ]; then ok 'odd calls: what another user may not do'; else not_ok 'odd calls: what another user may not do' "$refused of 4"; fi

# FUSE asks for lookups and capabilities besides, divides calls of many buffers, asks again after a short read of io_uring, and shows
# what a listing holds.
ended 'odd calls: by FUSE' fuse 0
kinds=$(awk '$1 != "lookup" && $1 != "getxattr" {printf "%s%s", n++ ? "," : "", $1}' share/odd.list)
for way in fuse odd; do fstrace filter share/$way.zst --op "$kinds" -o $way.zst >/dev/null; done
check_status 'odd calls: both ways tell the same' 0 '' fstrace compare fuse.zst odd.zst --tolerance mix=0.01 --tolerance outcomes=0.01 \
  --tolerance working-set=0 --tolerance names=0 --tolerance sizes=0.03

ended 'sockets: status' sockets 0
check_status 'sockets that were bound before are within reach' 0 '^1$' cat share/heard
check 'and nothing else is said' sh -c '! grep -v sockets.zst share/sockets.err | grep socket'

ended 'applications: status' applications 0
check 'applications: the trace is complete' fstrace verify share/applications.zst
# The kernel takes some ten seconds to let go of the hooks.
check 'applications: the trace ends with the command' python3 -c 'import json, subprocess
info = json.loads(subprocess.check_output(["fstrace", "info", "--json", "share/applications.zst"]))
after = info["closing"]["end"] - info["last_end"]
assert 0 <= after < 4e9, after'
mkdir target
check_status 'applications: the replay is clean' 0 '' fsreplay share/applications.zst file:target --timing asap
(cd target && find . ! -type d ! -path './.fsreplay*' -exec stat -c '%n %F %s %a %h' {} + | sort) >got
check 'applications: the trees are equal' diff <(sed 's/regular empty file/regular file/' share/wanted) <(sed 's/regular empty file/regular file/' got)

ended 'dropped: status' dropped 1
check_status 'dropped: said' 0 'not complete: [0-9,]+ operations were dropped' cat share/dropped.err
check_status 'dropped: nobody waited or failed' 0 '^2000$' cat share/made
check_status 'dropped: the trace has their number' 0 '"dropped": *[1-9]' fstrace info --json share/dropped.zst

ended 'killed: the command goes on to its end' whole 0
check_status 'killed: no mount is left' 0 '^0$' cat share/mounts
ended 'killed: nothing holds the file system' unmounted 0
ended 'killed: the next capture starts' after 0

ended 'everybody: the capture starts in the background' all 0
check_status 'everybody: the directory is mounted during the capture only' 0 '^1 0 0$' paste -sd ' ' share/all.mounts
ended 'everybody: a second capture is refused' second 2
check_status 'everybody: a second capture is refused in one line' 0 '^fsshim: /mnt/all: already captured' cat share/second.err
check_status 'everybody: list shows the capture' 0 '/mnt/all' cat share/all.list
ended 'everybody: stop' stop 0
check_status 'everybody: what was mounted inside stays' 0 '^kept$' cat share/sub.kept
ended 'everybody: a mount made inside meanwhile is not taken away: status' inside 1
check_status 'everybody: a mount made inside meanwhile is told' 0 'mounted inside meanwhile' cat share/inside.err
check_status 'everybody: a mount made inside meanwhile stays' 0 '^new$' cat share/new.kept
ended 'everybody: a file that was opened in the capture stays usable' held 0
check 'everybody: the trace is complete' fstrace verify share/all.zst
check_status 'everybody: operations of others are recorded' 0 ' rename file -> other ' fstrace dump share/all.zst
check_status 'everybody: calls that had not ended are told' 0 '(setlk range .*unfinished|flock whole .*unfinished)' fstrace dump share/all.zst
check_status 'everybody: two calls had not ended' 0 'failed, 2 unfinished' fstrace info share/all.zst
check_status 'everybody: names that others change are counted' 0 '11 changes of names by others' fstrace info share/all.zst
check_status 'everybody: what was opened before is not' 1 '' sh -c 'fstrace dump share/all.zst | grep -E " (before|after)"'
ended 'everybody: a signal ends the capture' interrupted 0
check 'everybody: the interrupted trace is complete' fstrace verify share/interrupted.zst
ended 'everybody: somebody takes the mount away: status' taken 1
check_status 'everybody: somebody takes the mount away: it is told' 0 '^fsshim: /share/taken.zst: not complete: somebody took the mount' cat share/taken.err
check 'everybody: the trace until then is complete' fstrace verify share/taken.zst
ended "everybody: $kills kills harm no application" worker 0
check 'everybody: half of the kills came while fsshim recorded' test "$(cat share/recorded)" -ge $((kills / 2))

ended 'everywhere: the capture starts in the background' every 0
ended 'everywhere: stop' everystop 0
check_status 'everywhere: nothing is mounted' 0 '^0$' cat share/every.mounts
check 'everywhere: the trace is complete' fstrace verify share/every.zst
check_status 'everywhere: another mount in another namespace' 0 ' rename dir/inner -> moved ' fstrace dump share/every.zst
check_status 'everywhere: a file that was read, with its handle' 0 ' read dir/inner .*= 3' fstrace dump share/every.zst
check_status 'everywhere: nothing of what lies outside, or was opened before' 1 '' sh -c 'fstrace dump share/every.zst | grep -E "before|view|out/| (create|open|read) two"'
check_status 'everywhere: what crosses the border is told' 0 '2 renames and links between the directory and others' fstrace info share/every.zst

ended 'pod: the capture starts' pod 0
ended 'pod: stop' podstop 0
check_status 'pod: what its container does' 0 ' create inside ' fstrace dump share/pod.zst
check_status 'pod: nothing of other processes' 1 '' sh -c 'fstrace dump share/pod.zst | grep -E "outside|host"'
check_status 'pod: what the kernel leaves out is not in the trace' 1 '' sh -c 'fstrace dump share/pod.zst | grep -E " (read|getattr) "'
check_status 'pod: what the kernel leaves out is counted' 0 '[1-9][0-9]* filtered out' cat share/pod.out share/pod.log
check_status 'pod: the kernel left it out, and not the writer' 0 '[1-9][0-9]* operations were filtered out in the kernel' cat share/pod.out share/pod.log
check_status 'pod: the header names the control group' 0 'processes of /sys/fs/cgroup/kubepods-pod12ab_34cd.slice, through any mount' fstrace info share/pod.zst
check_status 'pod: names that others change are counted' 0 '2 changes of names by others' fstrace info share/pod.zst
mkdir podtarget
check_status 'pod: a replay warns of names that others changed' 0 'warning: the capture did not see names that processes outside .*, 2 changes of names by others' \
  sh -c 'fsreplay -q --timing asap share/pod.zst podtarget || true'
ended 'control group: odd calls: status' odd_group 0
ended 'control group: odd calls: stop' odd_group_stop 0
check 'control group: odd calls, also bind(2): each is recorded, and no other' diff <(sort share/odd_group.list) <(by_kind share/odd_group.zst)
check_status 'control group: odd calls: a removal by another is counted' 0 '1 changes of names by others' fstrace info share/odd_group.zst
check_status 'everywhere: five captures that are refused' 0 '^5$' grep -c '^bad 2$' share/statuses
check_status 'everywhere: refused in one line each' 0 '^5$' sh -c 'grep -c "^fsshim: --" share/bad.err'

ended 'everywhere: its control group ends: status' group 1
check_status 'everywhere: its control group ends: it is told' 0 '^fsshim: /share/group.zst: not complete: .*control group' cat share/group.err
check_status 'everywhere: its control group ends: the trace tells' 0 'processes of /sys/fs/cgroup/other after' fstrace info share/group.zst
ended 'everywhere: its directory is replaced: status' renamed 1
check_status 'everywhere: its directory is replaced: it is told' 0 '^fsshim: /share/renamed.zst: not complete: the directory was' cat share/renamed.err

check_status 'check: can be had there' 0 '^via kernel +possible' cat share/check
check_status 'auto: at the hooks, which is told' 0 "^fsshim: --via auto: captures at the kernel's hooks\$" cat share/after.err
check_status 'auto: the trace tells it' 0 'kernel hooks, eBPF' fstrace info share/after.zst
mkdir here
if fsshim capture here --via kernel -o here.zst -- true 2>here.err; then
  ok 'this machine: permitted'
else
  check_status 'this machine: one line says why not' 0 '^fsshim: --via kernel: .*leave --via out$' cat here.err
  check_status 'this machine: nothing is made' 1 '' test -e here.zst
fi
