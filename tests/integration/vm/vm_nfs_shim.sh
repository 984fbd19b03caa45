#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fsshim over kernel NFS mounts (versions 3 and 4.1) in a virtual machine: applications get the answers that the mount itself gives
# them, with root squashed, with files that vanished on the server (ESTALE), and while the server is away; what other clients change
# is seen at once; the header tells what went over the wire. Then over ext4 with quotas: a user's limits are the same under fsshim.
if [ "${1:-}" != --beside-server ]; then
  # These need the network, which the server's namespace has not.
  "$(dirname "$0")/../../vm/fetch-kernel" >/dev/null && "$(dirname "$0")/../../vm/fetch-package" quota >/dev/null || exit 1
  exec "$(dirname "$0")/../../servers/ganesha" "$0" --beside-server
fi
. "$(dirname "$0")/../harness/common.sh"

mkdir share
for version in 3 4.1; do
  for how in native shim; do mkdir -p "$NFS_VFS_DIR/$version/$how"; done
done

# Answers of one directory, a line each, the same in every directory.
cat >share/questions.sh <<'E'
restart() { echo >/share/wanted; while [ -e /share/wanted ]; do sleep 0.1; done; }  # the host restarts the server
other=/mnt/other/$PLACE/d  # the same directory as another client sees it, with caches of its own
said() { echo "$1: $(shift; "$@" 2>&1 | sed 's|/mnt/[a-z]*/||g' | head -3 | tr '\n' '|')"; }
cd "$1"
mkdir d; echo hello >d/f; chmod 600 d/f; ln d/f d/g; ln -s f d/s; mkfifo d/p
said list ls d; said mode stat -c '%a %u %g %h %s %F' d/f d/s d/p; said read cat d/s
said 'not a directory' cat d/f/x; said 'not empty' rmdir d; said 'exists' mkdir d
said 'name too long' touch "d/$(printf '%0300d' 1)"
said sparse dd if=/dev/zero of=d/sparse bs=4k count=1 seek=100 conv=fsync status=none; said size stat -c %s d/sparse
exec 5<d/f; rm d/f; said 'unlinked while open' head -n 1 <&5; exec 5<&-
said renamed mv d/g d/h; said again cat d/h
echo here >$other/vanishes; exec 6<d/vanishes
mkdir $other/home; cd d/home
rm $other/vanishes; rmdir $other/home
restart
said 'file gone on the server' head -n 1 <&6; exec 6<&-
said 'directory gone on the server' stat -c %F .
cd "$1"
said 'not there yet' cat d/appeared
echo appeared >$other/appeared
said 'made by another' cat d/appeared
echo 'changed by another' >$other/appeared
said 'changed by another' cat d/appeared
mv $other/appeared $other/moved
said 'moved by another' cat d/appeared d/moved
restart
i=0; while [ $i -lt 20 ]; do echo "line $i" >>d/log || echo "append failed"; i=$((i + 1)); done
said 'after a restart' tail -n 1 d/log; said lines wc -l d/log
E
cat >share/squashed.sh <<'E'
said() { echo "$1: $(shift; "$@" 2>&1 | sed 's|/mnt/[a-z]*/||g' | head -3 | tr '\n' '|')"; }
cd "$1"
said 'root may not write' touch private/new; said 'root may not read' cat private/secret; said 'nor list' ls private
said 'public' touch public/made; said 'whose' stat -c '%u %a' public/made; said chown chown 5:5 public/made
E
# A user at the limits of 4,000 KiB and 20 files.
cat >share/limited.sh <<'E'
said() { echo "$1: $(shift; "$@" 2>&1 | sed 's|/mnt/[a-z]*/||g' | head -3 | tr '\n' '|')"; }
cd "$1"
said 'more than the limit' sh -c 'dd if=/dev/zero of=big bs=64k count=100 conv=fsync 2>&1 | grep exceeded'
said 'what was written' stat -c %s big; said 'allocated beyond it' fallocate -l 5m big
said 'another small file' sh -c 'dd if=/dev/zero of=small bs=4k count=1 2>&1 | grep exceeded'; rm -f big small
i=0; while touch file$i 2>/tmp/said; do i=$((i + 1)); done
echo "files: $i, then $(cat /tmp/said)"; said 'a directory more' mkdir d; rm -f file*
E
truncate -s 64M disk && /usr/sbin/mkfs.ext4 -q -O quota -E quotatype=usrquota disk
cat >job <<E
#!/bin/sh
mkdir /mnt/nfs /mnt/other /mnt/squash /mnt/quota
echo user:x:1000:1000::/:/bin/sh >>/etc/passwd
chmod 1777 /tmp
mount -t ext4 -o usrquota /dev/vda /mnt/quota && setquota -u 1000 0 4000 0 20 /mnt/quota && mkdir -m 777 /mnt/quota/user ||
  { echo "not ok - guest: a file system with quotas"; exit 1; }
su user -c 'sh /share/limited.sh /mnt/quota/user' >/share/quota-native 2>&1
fsshim capture /mnt/quota -o /tmp/quota.zst -- su user -c 'sh /share/limited.sh /mnt/quota/user' >/share/quota-shim 2>/tmp/errors
umount /mnt/quota
options=proto=tcp,nolock,port=$NFS_PORT,addr=10.0.2.2
for version in 3 4.1; do
  more=; [ \$version != 3 ] || more=,mountproto=tcp,mountport=$MOUNT_PORT
  mount -t nfs -o vers=\$version,noac,\$options\$more 10.0.2.2:$NFS_VFS_EXPORT /mnt/nfs || { echo "not ok - guest: NFS \$version mount"; exit 1; }
  echo "ok - guest: NFS \$version mount"
  mount -t nfs -o vers=\$version,noac,nosharecache,\$options\$more 10.0.2.2:$NFS_VFS_EXPORT /mnt/other || { echo "not ok - guest: second NFS \$version mount"; exit 1; }
  PLACE=\$version/native sh /share/questions.sh /mnt/nfs/\$version/native >/share/native.\$version 2>&1
  cd /
  PLACE=\$version/shim fsshim capture /mnt/nfs -o /tmp/\$version.zst -- sh /share/questions.sh /mnt/nfs/\$version/shim >/share/shim.\$version 2>/tmp/errors
  echo "capture over \$version ended with \$?: \$(tail -n 1 /tmp/errors)"
  cp /tmp/\$version.zst /share/
  umount /mnt/other
  umount /mnt/nfs || { echo "not ok - guest: NFS \$version unmounted: \$(grep mnt /proc/mounts | tr '\\n' '|')"; exit 1; }
  mount -t nfs -o vers=\$version,\$options\$more 10.0.2.2:$NFS_SQUASH_EXPORT /mnt/squash || { echo "not ok - guest: squashed NFS \$version mount"; exit 1; }
  sh /share/squashed.sh /mnt/squash >/share/squash-native.\$version 2>&1
  rm -f /mnt/squash/public/made
  fsshim capture /mnt/squash -o /tmp/squash-\$version.zst -- sh /share/squashed.sh /mnt/squash >/share/squash-shim.\$version 2>/tmp/errors
  rm -f /mnt/squash/public/made
  umount /mnt/squash
done
E
mkdir -m 700 "$NFS_VFS_DIR/private" && echo secret >"$NFS_VFS_DIR/private/secret"
mkdir -m 777 "$NFS_VFS_DIR/public"

serve_restarts() {
  while sleep 0.1; do
    [ -e share/wanted ] || continue
    "$FSR_SOURCE/tests/servers/ganesha" --stop
    "$FSR_SOURCE/tests/servers/ganesha" --start
    rm share/wanted
  done
}
serve_restarts &
own_process $!

"$FSR_SOURCE/tests/vm/run" --share share --timeout 500 --disk disk --module ext4 --module quota_v2 --program "$FSR_BUILD/shim/fsshim" \
  --program "$("$FSR_SOURCE/tests/vm/fetch-package" quota)/usr/sbin/setquota" job || not_ok "the guest's job" "ended with $?"

same_answers() {  # NAME NATIVE SHIM LINES
  local line
  [ "$(wc -l <"$2")" -ge "$4" ] || { not_ok "$1" "only $(wc -l <"$2") answers: $(tail -n 2 "$2")"; return; }
  while IFS= read -r line; do
    if grep -Fxq -- "$line" "$3"; then ok "$1: ${line%%:*}"; else not_ok "$1: ${line%%:*}" "native '$line', shim '$(grep "^${line%%:*}:" "$3")'"; fi
  done <"$2"
}
same_answers "quotas" share/quota-native share/quota-shim 6
check_status "quotas: the limits were met" 0 'files: 20, then .*exceeded' cat share/quota-shim
for version in 3 4.1; do
  same_answers "NFS $version" share/native.$version share/shim.$version 20
  same_answers "NFS $version, root squashed" share/squash-native.$version share/squash-shim.$version 6
  check_status "NFS $version: what vanished on the server is stale" 0 'directory gone on the server: .*Stale' cat share/shim.$version
  check "NFS $version: the trace is complete" fstrace verify share/$version.zst
  check_status "NFS $version: what the mount sent is told beside what applications did" 0 '^on the wire .*access [1-9]' \
    fstrace info share/$version.zst
  check_status "NFS $version: the counters of all mounts" 0 '"rpc_nfs": *"net ' fstrace info --json share/$version.zst
  check_status "NFS $version: the header has the mount's statistics" 0 '"mountstats": *"device 10' fstrace info --json share/$version.zst
done
