#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Captures that run out of something, and captures by users without privileges.
. "$(dirname "$0")/../harness/common.sh"
chmod 755 "$scratch"
mkdir d small

# --- few descriptors, many files
# Who may raise limits would.
few() { setpriv --bounding-set=-sys_resource "$@"; }
many() { (ulimit -n 256; few fsshim capture d -o many.zst -- sh -c "$1"); }
check "6000 files with 256 descriptors" many 'cd d && mkdir -p a/b && for i in $(seq 6000); do echo $i >a/b/f$i; done'
check "all of them are found and read" eval '[ "$( (ulimit -n 256; few fsshim capture d -o read.zst -- sh -c "find d -type f -exec cat {} +") | sort -n | md5sum)" = "$(seq 6000 | md5sum)" ]'
check "and removed" eval '(ulimit -n 256; few fsshim capture d -o remove.zst -- rm -r d/a) && ! test -e d/a'
mkdir xfs
check "also where only names lead back to files" eval '
  mkdir -p lower upper work ovl && for i in $(seq 1000); do echo $i >lower/$i; done
  mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work ovl &&
  [ "$( (ulimit -n 200; few fsshim capture ovl -o ovl.zst -- sh -c "ls -l ovl >/dev/null; cat ovl/*; mv ovl/1 ovl/one; stat ovl/one >/dev/null") | sort -n | md5sum)" = "$(seq 1000 | md5sum)" ]'

cat >open-many.py <<'END'
import errno, os
open("d/g", "w").close()
os.chmod("d/g", 0o666)
ready, done = os.pipe(), os.pipe()
if os.fork() == 0:
    os.setgid(1000)
    os.setuid(1000)
    held = []
    try:
        while len(held) < 1500:
            held.append(os.open("d/g", os.O_RDONLY))
    except OSError as e:
        os.write(ready[1], errno.errorcode[e.errno].encode())
    os.close(done[1])
    os.read(done[0], 1)
    os._exit(0)
said = os.read(ready[0], 99).decode()
held = [os.open("d/g", os.O_RDWR) for _ in range(20)]
print(said, len(os.listdir("d")) > 0, "root opens more")
END
many_of_one() { (ulimit -n 2048; (ulimit -n 512; few fsshim capture d -o one.zst) & capture=$!
  while ! grep -q " $PWD/d fuse" /proc/self/mounts; do sleep 0.05; done
  python3 open-many.py; fsshim stop d >/dev/null; wait $capture); }
check "one user's open files leave room for others'" eval 'many_of_one 2>/dev/null | grep -q "ENFILE True root opens more"'
cat >remove-many.py <<'END'
# A user opens files, or only reaches them (O_PATH), and removes them; prints whether root may open more, and what the user has.
import os
os.mkdir("d/own")
os.chmod("d/own", 0o777)
ready, done = os.pipe(), os.pipe()
if os.fork() == 0:
    os.setgid(1000)
    os.setuid(1000)
    held = []
    try:
        for i in range(1500):
            name = f"d/own/{i}"
            held.append((os.open(name, os.O_RDWR | os.O_CREAT), False))
            if i % 2:
                os.close(held.pop()[0])
                held.append((os.open(name, os.O_PATH), True))
            os.unlink(name)
    except OSError:
        pass
    ends = sum(os.pwrite(fd, b"abc", 0) == 3 and os.fstat(fd).st_nlink == 0 for fd, path in held if not path)
    os.write(ready[1], b"kept" if ends == sum(not path for _, path in held) > 30 else str((ends, len(held))).encode())
    os.close(done[1])
    os.read(done[0], 1)
    os._exit(0)
said = os.read(ready[0], 99).decode()
held = [os.open("d/g", os.O_RDWR) for _ in range(20)]
print(said, len(os.listdir("d")) > 0, "root opens more")
END
many_removed() { (ulimit -n 4096; (ulimit -n 512; few fsshim capture d -o removed.zst) & capture=$!
  while ! grep -q " $PWD/d fuse" /proc/self/mounts; do sleep 0.05; done
  python3 remove-many.py; fsshim stop d >/dev/null; wait $capture); }
check "one user's removed files leave room for others, and stay" eval 'many_removed 2>/dev/null | grep "kept True root opens more"'
cat >lock-many.py <<'END'
# 40 processes of one user lock 60 files each; prints how that ended for them, and whether root may lock.
import errno, fcntl, os
for i in range(60):
    os.close(os.open(f"d/l{i}", os.O_RDWR | os.O_CREAT))
    os.chmod(f"d/l{i}", 0o666)
ready, done = os.pipe(), os.pipe()
children = []
for n in range(40):
    children.append(os.fork())
    if children[-1] == 0:
        os.setgid(1000)
        os.setuid(1000)
        held, said = [], ""
        try:
            for i in range(60):
                held.append(os.open(f"d/l{i}", os.O_RDWR))
                fcntl.lockf(held[-1], fcntl.LOCK_EX, 1, n)
        except OSError as e:
            said = errno.errorcode[e.errno]
        os.write(ready[1], said.ljust(10).encode())
        os.close(done[1])
        os.read(done[0], 1)
        os._exit(0)
said = {os.read(ready[0], 10).decode().strip() for _ in children}
mine = os.open("d/root", os.O_RDWR | os.O_CREAT)
fcntl.lockf(mine, fcntl.LOCK_EX)
status = os.spawnlp(os.P_WAIT, "sh", "sh", "-c", "timeout 20 fsshim list | grep -q recording")
print("refused" if said <= {"", "ENFILE", "ENOLCK"} and len(said) > 1 else said, "root locks", "list", status)
os.close(done[1])
for pid in children:
    os.waitpid(pid, 0)
END
many_locks() { (ulimit -n 2048; (ulimit -n 512; few fsshim capture d -o locks.zst) & capture=$!
  while ! grep -q " $PWD/d fuse" /proc/self/mounts; do sleep 0.05; done
  python3 lock-many.py; timeout 20 fsshim stop d >/dev/null && echo stopped; wait $capture); }
check "one user's locks leave room for others, for list and for stop" \
  eval 'many_locks 2>/dev/null | tr "\n" " " | grep -q "^refused root locks list 0 stopped"'

# --- what is not content is not recorded unasked
setfattr -n user.secret -v PASSWORD123 d/g
# What is in the compressed parts of a trace.
cat >inside.py <<'END'
import re, subprocess, sys
trace = open(sys.argv[1], "rb").read()
for part in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), trace):
    sys.stdout.buffer.write(subprocess.run(["zstd", "-dc"], input=trace[part.start():], capture_output=True).stdout)
END
attributes() { fsshim capture d "$@" -- sh -c 'getfattr -n user.secret d/g && setfattr -n user.other -v PASSWORD123 d/g' | grep PASSWORD123 >/dev/null; }
check "values of extended attributes are not recorded unasked" eval '
  attributes -o attr.zst && python3 inside.py attr.zst | grep -a user.other >/dev/null && ! python3 inside.py attr.zst | grep -a PASSWORD >/dev/null'
check "they are with --content full" eval 'attributes -o full.zst --content full && python3 inside.py full.zst | grep -a PASSWORD >/dev/null'

# --- the trace's file system runs full
mount -t tmpfs -o size=6m none small
check_status "a full disk ends recording with status 1" 1 "recording stopped: only .* free" \
  fsshim capture d -o small/t.zst --content full -- sh -c 'for i in $(seq 200); do head -c 65536 /dev/urandom >d/r; cmp -s d/r d/r || exit 9; done; echo done >d/after'
check "the application went on" grep -q "done" d/after
check "there is still room" eval '[ "$(df --output=avail -B1024 small | tail -1)" -gt 500 ]'
check "the trace is complete up to there" fstrace verify small/t.zst
check "it names the reason" eval 'fstrace info small/t.zst | grep -q "free on the trace"'
check_status "no room at all: refused" 2 "free on the file system of the trace, expected at least" sh -c 'head -c 4200000 /dev/zero >small/fill; fsshim capture d -o small/u.zst -- true'
check "nothing is left of that" eval '! ls small/u.* 2>/dev/null'
umount small

# --- what a file system keeps for the superuser
truncate -s 48M reserve.img && mkfs.ext4 -q -m 25 reserve.img && mkdir reserve && mount -o loop reserve.img reserve && chmod 777 reserve
cat >take-room.py <<'END'
import errno, os, sys

def until_full(step):
    try:
        while True:
            step()
    except OSError as e:
        return errno.errorcode[e.errno]

def write(fd):
    return lambda: os.write(fd, b"x" * 65536)

def allocate(fd):
    return lambda: os.posix_fallocate(fd, os.fstat(fd).st_size, 65536)

def copy(fd):
    source = os.open("source", os.O_RDWR | os.O_CREAT, 0o666)
    os.pwrite(source, b"y" * 65536, 0)
    return lambda: os.copy_file_range(source, fd, 65536, 0)

if len(sys.argv) > 2:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
how = {"write": write, "allocate": allocate, "copy": copy}[sys.argv[1]]
fd = os.open("filling", os.O_WRONLY | os.O_CREAT, 0o666)
said = until_full(how(fd))
fs = os.statvfs(".")
print(said, "reserve left" if fs.f_bfree * fs.f_bsize > 8 << 20 else "reserve taken")
os.unlink("filling")
END
for how in write allocate copy; do
  take="cd reserve && exec python3 ../take-room.py $how 1000"
  native=$(sh -c "$take" 2>&1)
  check "a user who fills a file system ($how) takes what it may" \
    eval '[ "$(fsshim capture reserve -o take-$how.zst -- sh -c "$take" 2>/dev/null)" = "$native" ] && [ "$native" = "ENOSPC reserve left" ]'
done
check "the superuser takes all" \
  eval 'fsshim capture reserve -o take-root.zst -- sh -c "cd reserve && exec python3 ../take-room.py write" 2>/dev/null | grep -q "reserve taken"'
umount reserve

# --- a user without privileges
mkdir home user && chown 65534:65534 home user
cat >as-nobody <<'END'
#!/bin/sh
# A world-accessible /dev/fuse as on ordinary systems, in a namespace of its own.
exec unshare -m sh -c 'rm -f "$0.fuse"; mknod -m 666 "$0.fuse" c 10 229 && mount -t tmpfs none /mnt && touch /mnt/x && mount --bind "$0.fuse" /dev/fuse &&
  exec setpriv --reuid 65534 --regid 65534 --clear-groups env XDG_RUNTIME_DIR=/nonexistent TMPDIR="$PWD/home" "$@"' "$0" "$@"
END
chmod +x as-nobody
install -m 755 "$(command -v fsshim)" fsshim  # the build may stand in a directory that only root enters
check "command mode without root" ./as-nobody ./fsshim capture user -o home/u.zst -- sh -c 'echo mine >user/f && mv user/f user/g && cat user/g && ls -l user'
check "its files are the user's own" eval '[ "$(stat -c %u user/g)" = 65534 ]'
check "its trace verifies" fstrace verify home/u.zst
check "and shows the rename" eval 'fstrace dump home/u.zst | grep -q " rename f "'
check "its directory may hold the control socket" ./as-nobody env XDG_RUNTIME_DIR="$PWD/user" \
  timeout 20 ./fsshim capture user -o home/v.zst -- sh -c 'ls user/fsshim/*.info'
check "what the user may not, the command may not" ./as-nobody ./fsshim capture user -o home/p.zst -- sh -c '
  cd user && echo x >ro && chmod 444 ro && ! sh -c "echo y >ro" && [ "$(cat ro)" = x ] && mkdir shut && chmod 555 shut && ! touch shut/f &&
  echo x >secret && chmod 0 secret && ! cat secret && ! truncate -s 0 ro && rm -f ro secret && rmdir shut'
check "a lock on a file that was made for reading only" ./as-nobody ./fsshim capture user -o home/l.zst -- python3 -c '
import fcntl, os
fd = os.open("user/made", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0)
fcntl.lockf(fd, fcntl.LOCK_EX)
os.write(fd, b"x")'
sed 's/--clear-groups/--groups 65534,2/' as-nobody >as-member && chmod +x as-member
check_status "groups that have no effect are named" 0 "can change only files of this user and of the group .*; membership in ($(getent group 2 | cut -d: -f1)|2) gives no right to files of other users" \
  ./as-member ./fsshim capture user -o home/g.zst -- true
check_status "so they are by check" 0 "membership in ($(getent group 2 | cut -d: -f1)|2) gives no right to files of other users" ./as-member ./fsshim check user
# The administrator gives them subordinate ids, a shared group's among them.
granted='echo nobody:200000:9 >"$0.ids" \&\& echo 65534:1005:1 >>"$0.ids" \&\& for f in subuid subgid; do mount --bind "$0.ids" /etc/$f; done \&\& '
sed -e 's/--clear-groups/--groups 65534,1005/' -e "s|exec setpriv|$granted&|" as-nobody >as-granted && chmod +x as-granted
mkdir user/together && chown 200000:1005 user/together && chmod 2770 user/together
check "subordinate ids exist in the capture" eval '
  [ "$(./as-granted ./fsshim capture user -o home/s.zst -- stat -c %u:%g user/together)" = 200000:1005 ]'
check "a shared group's files and directories are changed as without a capture" ./as-granted ./fsshim capture user -o home/t.zst -- sh -c '
  cp /bin/true user/together/f && chmod 600 user/together/f && mv user/together/f user/together/g && [ "$(stat -c %u:%g user/together/g)" = 65534:1005 ] &&
  chgrp 1005 user/g && rm user/together/g'
check_status "what is said at the start then leaves that group out" 0 "and of the user's subordinate ids$" \
  ./as-granted ./fsshim capture user -o home/x.zst -- true
cp "$(type -P id)" user/together/who && chown 200000:1005 user/together/who && chmod 6755 user/together/who
check "a program that is set to a subordinate id runs as the user" eval '
  [ "$(./as-granted ./fsshim capture user -o home/i.zst -- user/together/who -u)" = 65534 ]'
rm -r user/together
cat >mapping.py <<'END'
import mmap, subprocess, sys
with open("user/mapped", "w+b") as f:
    f.truncate(4096)
    with mmap.mmap(f.fileno(), 4096):
        sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
END
check_status "a mapping that keeps a capture from starting is named by check" 0 "^not started +files are mapped shared and writable by [0-9]+ python3" \
  ./as-nobody python3 mapping.py ./fsshim check user
check "nothing keeps it otherwise" eval './as-nobody ./fsshim check user >said && ! grep "not started" said'
# Processes that a command leaves behind are waited for 5 s. Three tries, for a machine that is busy.
ends_at_once() { for i in 1 2 3; do timeout 4 ./as-nobody ./fsshim capture user -o home/w$i.zst -- true && return; done; return 1; }
check "it ends when its command and that one's children have ended" ends_at_once

# --- programs that may be executed and not read
mkdir programs && install -m 711 "$(type -P true)" programs/unread && install -m 755 "$(type -P true)" programs/read
run_program() { fsshim capture programs -o "prog-$1${2-}.zst" "${@:2}" -- setpriv --reuid 1000 --clear-groups sh -c "exec programs/$1"; }  # setpriv has capabilities until it executes
check_status "a program that its user may not read is told of" 0 "executed a program that the user may not read" run_program unread
check "one that may be read is not" eval 'run_program read 2>said && ! grep "may not read" said'
check "nor where the kernel sees to it" eval 'run_program unread --permissions kernel 2>said && ! grep "may not read" said'
