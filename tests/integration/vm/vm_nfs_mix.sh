#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A mix in a directory on a kernel NFS mount: what the mount sent is read from its counters, and shown beside what was asked. nhfsstone
# past the client's caches, with default mount options. And the twelve tests of lantest there. --mixes instead: nhfsstone with the mixes
# of five servers, on mounts of both versions.
if [ "${1:-}" != --beside-server ]; then
  "$(dirname "$0")/../../vm/fetch-kernel" >/dev/null || exit 1  # needs the network, which the server's namespace has not
  exec "$(dirname "$0")/../../servers/ganesha" "$0" --beside-server "$@"
fi
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"

valid() {  # RUN: a mix as asked for on the wire, also if the machine was too busy to keep the load
  check "nhfsstone with default mount options is valid: $1" sh -c "! grep -q INVALID share/$1.out &&
    { grep -q '^status 0' share/$1.out || grep -q 'load generator itself stood still' share/$1.out; } || { tr '\n' '|' <share/$1.out; false; }"
}

mkdir share "$NFS_VFS_DIR/mix"
if [ "${2:-}" = --mixes ]; then
  cp "$FSR_SOURCE"/tests/data/server-mixes/*.mix share/
  cat >job <<E
#!/bin/sh
mkdir /mnt/nfs
for version in 3 4.1; do
  kind="nfs -o vers=3,nolock,proto=tcp,mountproto=tcp,port=$NFS_PORT,mountport=$MOUNT_PORT,addr=10.0.2.2"
  [ \$version = 3 ] || kind="nfs4 -o vers=4.1,proto=tcp,port=$NFS_PORT,addr=10.0.2.2,clientaddr=10.0.2.15"
  mount -t \$kind 10.0.2.2:$NFS_VFS_EXPORT/mix /mnt/nfs
  for mix in /share/*.mix; do
    name=\$version-\$(basename \$mix .mix)
    mkdir /mnt/nfs/\$name
    fsbench nhfsstone -v -l 150 -c 1500 -m \$mix /mnt/nfs/\$name >/share/\$name.out 2>&1
    echo "status \$?" >>/share/\$name.out
  done
  umount /mnt/nfs
done
E
  "$FSR_SOURCE/tests/vm/run" --timeout 3600 --share share --program "$FSR_BUILD/tools/fsbench" job || not_ok "the guest's job" "ended with $?"
  for version in 3 4.1; do
    for mix in share/*.mix; do
      run=$version-$(basename "$mix" .mix)
      valid "$run"
      tail -n 2 "share/$run.out"
    done
  done
  exit
fi
cat >job <<E
#!/bin/sh
mkdir /mnt/nfs /mnt/cached /tmp/local
# Nothing cached: what is asked for goes over the wire, and some more.
mount -t nfs -o vers=3,nolock,noac,lookupcache=none,proto=tcp,mountproto=tcp,port=$NFS_PORT,mountport=$MOUNT_PORT,addr=10.0.2.2 \\
  10.0.2.2:$NFS_VFS_EXPORT/mix /mnt/nfs || { echo "not ok - guest: kernel NFS mount"; exit 1; }
fsreplay mix:nhfsstone /mnt/nfs --calls 300 --streams 1 -q --json >/share/nfs.json 2>/share/nfs.err
echo \$? >/share/nfs.status
fsreplay mix:nhfsstone /tmp/local --calls 300 --streams 1 -q --json >/share/local.json 2>/share/local.err
mount -t nfs -o vers=3,nolock,proto=tcp,mountproto=tcp,port=$NFS_PORT,mountport=$MOUNT_PORT,addr=10.0.2.2 \\
  10.0.2.2:$NFS_VFS_EXPORT/mix /mnt/cached || { echo "not ok - guest: a second NFS mount"; exit 1; }
fsbench lantest /mnt/cached --percent 1 -n 1 --json >/share/lantest.json 2>/share/lantest.err
fsbench nfstest f/mnt/cached n1 uK m64 M64 >/share/cached.out 2>/share/cached.err
# All runs use one tree, which takes longer to make than they take.
mkdir /mnt/cached/stone
for mix in nhfsstone sfs97-v3; do
  fsbench nhfsstone -v -p 2 -l 150 -c 600 -m mix:\$mix /mnt/cached/stone >/share/three-\$mix.out 2>&1
  echo "status \$?" >>/share/three-\$mix.out
done
umount /mnt/cached
mount -t nfs4 -o vers=4.1,proto=tcp,port=$NFS_PORT,addr=10.0.2.2,clientaddr=10.0.2.15 10.0.2.2:$NFS_VFS_EXPORT/mix /mnt/cached ||
  { echo "not ok - guest: a mount of version 4.1"; exit 1; }
# Each change of a directory costs a request more here: more calls, so that chance decides nothing.
fsbench nhfsstone -v -p 2 -l 150 -c 1200 -m mix:nhfsstone /mnt/cached/stone >/share/four-nhfsstone.out 2>&1
echo "status \$?" >>/share/four-nhfsstone.out
fsbench nhfsstone -v -p 2 -l 150 -c 600 -m mix:sfs97-v3 /mnt/cached/stone >/share/four-sfs97-v3.out 2>&1
echo "status \$?" >>/share/four-sfs97-v3.out
umount /mnt/cached
umount /mnt/nfs || { echo "not ok - guest: the NFS mount can be unmounted"; exit 1; }
echo "ok - guest: the NFS mount can be unmounted"
E

"$FSR_SOURCE/tests/vm/run" --share share --program "$FSR_BUILD/replay/fsreplay" --program "$FSR_BUILD/tools/fsbench" job || not_ok "the guest's job" "ended with $?"
check_report "every call on the mount succeeded" share/nfs.json 'r["differed"] == 0' 'r["mix"]["calls"] == 300'
check_report "what the mount sent is counted" share/nfs.json 'r["mix"]["wire_calls"] > 150' \
  'r["mix"]["procedures"]["write"]["wire"] >= 30' 'r["mix"]["procedures"]["lookup"]["wire"] > 0'
check_report "the verdict is on the wire's mix" share/nfs.json \
  'r["mix"]["valid"] == (r["mix"]["wire"]["total_percent"] <= 10)' 'r["mix"]["issued"]["total_percent"] < 5'
check "and so is the status" test "$(cat share/nfs.status)" = \
  "$(python3 -c 'import json; print(0 if json.load(open("share/nfs.json"))["mix"]["valid"] else 1)')"
check_report "a directory on no NFS is not waited for" share/local.json '"wire" not in r["mix"]' 'r["mix"]["valid"]' \
  'r["exit_status"] == 0'
check_report "lantest runs on the mount, and names it" share/lantest.json 'len(r["rows"]) == 12' 'all(row["rate"] > 0 for row in r["rows"])' '" nfs " in r["through"]'
check "nfstest: what the client's cache answered is no best rate of reading" \
  sh -c 'grep -q "no READ reached the server for files of 64K" share/cached.err && grep -q "Best writing rate achieved: TWR=" share/cached.out &&
         grep -q "Best reading rate achieved: none" share/cached.out'
for run in three-nhfsstone three-sfs97-v3 four-nhfsstone four-sfs97-v3; do
  valid "$run"
done
check "its summary tells calls on the wire, which are more than those issued" sh -c "awk '/ issued\$/ {found = \$3 > \$(NF - 1)} END {exit !found}' share/three-nhfsstone.out ||
  { tr '\n' '|' <share/three-nhfsstone.out; false; }"
check "what no call can send is named" grep -q '^mix: fsinfo: clients send this procedure only when mounting$' share/three-sfs97-v3.out
