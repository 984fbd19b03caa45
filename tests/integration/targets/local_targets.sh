#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The conformance suite on the targets that need no server, `file:` also with few descriptors.
. "$(dirname "$0")/../harness/common.sh"
suite=$FSR_BUILD/tests/integration/target_conformance

run() {  # NAME COMMAND...
  local name=$1 output status=0
  shift
  output=$("$@" 2>&1) || status=$?
  grep -E '^(ok|not ok) - ' <<<"$output" | sed "s/ - / - $name: /"
  [ $status = 0 ] || not_ok "$name" "ended with $status: $(tail -n 3 <<<"$output" | tr '\n' '|')"
}

run memory "$suite" memory:
run file "$suite" "file:$scratch/file"
run 'file, privileged' "$suite" "file:$scratch/privileged" --privileged
run 'file, 128 descriptors' bash -c 'ulimit -n 128 && exec "$0" "$1"' "$suite" "$scratch/few"
for i in $(seq 200); do echo "1 1.${i}00 openat(AT_FDCWD, \"f$i\", O_RDWR|O_CREAT, 0600) = $((i + 2)) <0.000001>"; done >open.log
fstrace import open.log -o open.zst >/dev/null
check_status 'files that this process may not open are told as such' 1 'target +[1-9][0-9]* failed because this process may have no more open files' \
  bash -c 'ulimit -n 128 && fsreplay open.zst "file:$0" --timing asap' "$scratch/limited"
echo '1 1.000000 openat(AT_FDCWD, "f", O_RDWR|O_CREAT, 0600) = 3 <0.000001>
1 1.100000 pwrite64(3, "x"..., 4096, 40960) = 4096 <0.000001>' >long.log
fstrace import long.log -o long.zst >/dev/null
check_status 'a file of more bytes than this process may write differs' 1 'write: recorded .*, got EFBIG|write .*got EFBIG' \
  bash -c 'ulimit -f 30 && fsreplay long.zst "file:$0" --timing asap' "$scratch/short"

# On disk: a tmpfs may have no O_DIRECT.
disk=$(mktemp -d /var/tmp/fsshim-test.XXXXXX)
run 'file, direct' "$suite" "file:$disk/direct?direct=1"
cat >direct.sh <<'END'
dd if=/dev/urandom of=d/whole bs=8192 count=4 status=none
dd if=d/whole of=d/odd bs=1000 status=none
END
mkdir d
fsshim capture d -o direct.zst --content full -- sh direct.sh 2>capture.err || not_ok 'capture for direct=1' "$(cat capture.err)"
traced direct.strace openat,openat2,pwritev2,fcntl fsreplay direct.zst "file:$disk/replayed?direct=1" --timing asap -q >direct.out 2>&1 ||
  grep -q 'load generator itself stood still' direct.out || not_ok 'direct=1: replay' "$(cat direct.out)"
check 'direct=1: what is not of whole blocks is counted' \
  grep -Eq 'target +6[78] reads, writes and copies without O_DIRECT, not of whole blocks' direct.out
check 'direct=1: the content is the same' diff -r --exclude .fsreplay d "$disk/replayed"
check 'direct=1: files are opened with O_DIRECT' grep -Eq 'openat2?\([^,]+, "whole", .*O_DIRECT' direct.strace
check_status 'direct=1 where there is none' 2 'expected file:DIRECTORY' fsreplay direct.zst 'file:?direct=1'
# dd turns O_DIRECT off for its last bytes, which are no whole block.
mkdir "$disk/captured"
head -c 10000 /dev/urandom >rest
fsshim capture "$disk/captured" -o rest.zst --content full -- dd if=rest of="$disk/captured/rest" bs=4096 oflag=direct status=none 2>capture.err ||
  not_ok 'capture of dd with O_DIRECT' "$(cat capture.err)"
check_status 'O_DIRECT that the application turned off refuses nothing' 0 'clean: every operation was issued' fsreplay rest.zst "file:$disk/rest" --timing asap
check 'and the content is the same' cmp rest "$disk/rest/rest"
# Two threads write at the same time what is not of whole blocks; then one writes whole blocks.
{
  echo '1 1.000000 openat(AT_FDCWD, "f", O_RDWR|O_CREAT|O_DIRECT, 0600) = 3 <0.000001>'
  echo '1 1.100000 clone(child_stack=0x7f0000001000, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 2 <0.000001>'
  for i in $(seq 100 299); do
    echo "1 2.${i}000 pwrite64(3, \"x\"..., 513, $((i * 4096))) = 513 <0.000900>"
    echo "2 2.${i}001 pwrite64(3, \"x\"..., 513, $((i * 4096 + 1024))) = 513 <0.000900>"
  done
  for i in $(seq 100 299); do echo "1 3.${i}000 pwrite64(3, \"x\"..., 4096, $((i * 4096))) = 4096 <0.000100>"; done
} >odd.log
fstrace import odd.log -o odd.zst >/dev/null
traced odd.strace fcntl fsreplay odd.zst "file:$disk/odd" --timing asap >odd.out 2>&1
check 'O_DIRECT that refuses requests in flight together changes no outcome' grep -q 'clean: every operation was issued' odd.out
check 'a request that it refused is counted' \
  grep -Eq 'target +[1-9][0-9]* reads, writes and copies without O_DIRECT, not of whole blocks' odd.out
check 'later requests have O_DIRECT again' sh -c 'grep F_SETFL odd.strace | tail -n 1 | grep -q O_DIRECT'
rm -rf --one-file-system "$disk"

# What a kernel mount below is asked for: creations as recorded, and listings without positions in the middle of a getdents64.
cat >make.sh <<'END'
for i in $(seq 1000); do : >named/file-of-a-long-name-$i; done
ls -f named >listed
( set -C; : >named/exclusive )
END
mkdir -p made/named
fsshim capture made -o made.zst -- sh -c 'cd made && sh ../make.sh' 2>capture.err || not_ok 'capture of creations' "$(cat capture.err)"
check_status 'creations and listings: as recorded' 0 '100.000 % as recorded' \
  traced made.strace openat,openat2,getdents64,lseek fsreplay made.zst "file:$scratch/remade" --timing asap -q
check 'a file is created with O_EXCL only where that was recorded' [ "$(grep -c 'O_CREAT.*O_EXCL' made.strace)" = \
  "$(grep -c 'exclusive.*O_CREAT' made.strace)" ]
check 'a listing never seeks' sh -c '! grep "lseek(.*SEEK_SET" made.strace | grep -Evq "</(proc|sys)/"'

# A device is not made without --privileged: the directory that it alone keeps from being removed stays, and what is in it later, too.
mkdir kept
fsshim capture kept -o kept.zst -- sh -c 'cd kept; mkdir d; mknod d/null c 1 3; rmdir d; echo text >d/file' 2>capture.err ||
  not_ok 'capture of a directory with a device' "$(cat capture.err)"
check_status 'what was not made is named as what the tree lacks' 4 \
  "^not clean: 1 operations that change the tree were not issued, so the trees will differ: operation [0-9]+ mknod 'null'$" \
  fsreplay kept.zst "file:$scratch/rekept" --timing asap -q
check 'a directory that was not empty in the capture is not removed' [ -f rekept/d/file ]
