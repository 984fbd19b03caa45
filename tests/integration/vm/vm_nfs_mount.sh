#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian's stock kernel mounts NFS-Ganesha at /mnt/nfs, an application works there under fsshim, and its trace is replayed on the
# host onto NFS and into memory. The modelled Linux client is held against what the kernel sent for the same application without fsshim.
if [ "${1:-}" != --beside-server ]; then
  "$(dirname "$0")/../../vm/fetch-kernel" >/dev/null || exit 1  # needs the network, which the server's namespace has not
  exec "$(dirname "$0")/../../servers/ganesha" "$0" --beside-server
fi
. "$(dirname "$0")/../harness/common.sh"

mkdir share "$NFS_VFS_DIR/work" "$NFS_VFS_DIR/direct" "$NFS_VFS_DIR/again"

# Runs in the guest, which has busybox and no bash.
cat >share/app.sh <<'E'
set -e
mkdir src
cp -r /bin/busybox /etc src/
for i in $(seq 1 60); do echo "line $i of a file" >src/file$i; done
for i in $(seq 1 30); do mv src/file$i src/renamed$i; done
cat src/renamed* >all
ln all linked
ln -s all symlink
readlink symlink
tar czf src.tar.gz src
mkdir unpacked
tar xzf src.tar.gz -C unpacked
find unpacked -type f | sort | wc -l
chmod 640 all
rm -r src
rm src.tar.gz
dd if=/dev/zero of=sparse bs=4096 count=8 seek=64 conv=fsync 2>/dev/null
E
cat >job <<E
#!/bin/sh
mount_nfs() {
  mount -t nfs -o vers=3,nolock,proto=tcp,mountproto=tcp,port=$NFS_PORT,mountport=$MOUNT_PORT,addr=10.0.2.2 \\
    10.0.2.2:$NFS_VFS_EXPORT/\$1 /mnt/nfs || { echo "not ok - guest: kernel NFS mount"; exit 1; }
}
mkdir /mnt/nfs
cp /share/app.sh /tmp/app.sh
mount_nfs direct
cat /proc/self/mountstats >/share/direct.before
cd /mnt/nfs
sh /tmp/app.sh >/dev/null || echo "not ok - guest: the application without capture"
cat /proc/self/mountstats >/share/direct.after
cd /
umount /mnt/nfs
mount_nfs work
echo "ok - guest: kernel NFS mount"
cd /mnt/nfs
fsshim capture /mnt/nfs -o /tmp/t.zst -- sh /tmp/app.sh 2>/tmp/errors
status=\$?; cat /tmp/errors
cp /tmp/t.* /share/
[ \$status = 0 ] || { echo "not ok - guest: capture: fsshim ended with \$status"; exit 1; }
echo "ok - guest: capture of an application on the mount"
fsshim capture /mnt/nfs -o /tmp/guard.zst -- sh -c 'cat /proc/\$PPID/oom_score_adj /proc/\$PPID/task/*/stat' >/share/guard 2>/tmp/errors
cd /
if grep -q fuse /proc/mounts; then echo "not ok - guest: nothing stays mounted: \$(grep fuse /proc/mounts)"; exit 1; fi
echo "ok - guest: nothing stays mounted"
umount /mnt/nfs || { echo "not ok - guest: the NFS mount can be unmounted"; exit 1; }
echo "ok - guest: the NFS mount can be unmounted"
E

"$FSR_SOURCE/tests/vm/run" --share share --program "$FSR_BUILD/shim/fsshim" job || not_ok "the guest's job" "ended with $?"
if [ ! -s share/t.zst ]; then
  not_ok "trace of the guest" "there is none"
  exit 1
fi

# PF_MEMALLOC_NOIO and PF_LOCAL_THROTTLE are what PR_SET_IO_FLUSHER gives a thread.
check "others are killed for want of memory before a capture" test "$(head -n 1 share/guard)" = -900
check "none of its threads waits for write-back to get memory" sh -c \
  'tail -n +2 share/guard | { n=0; while read -r _ _ _ _ _ _ _ _ flags _; do [ $((flags & 0x180000)) = $((0x180000)) ] || exit 1; n=$((n + 1)); done; [ $n -ge 3 ]; }'
check "the trace is a zstd file" zstd -tq share/t.zst
check "the trace is complete" fstrace verify share/t.zst
check_status "the trace names the NFS mount as its source" 0 "10\.0\.2\.2:$NFS_VFS_EXPORT/work" fstrace info share/t.zst
mix=$(ls share/*.mix 2>/dev/null)
check_status "the mixfile counts the operations" 0 'Server nfs v3:' cat "$mix"
fstrace mix share/t.zst >again.mix 2>errors
check "a mixfile made from the trace equals the capture's own" cmp "$mix" <(grep -v '^# fsreplay:' again.mix)

# How far shares of procedures are apart, summed.
check_status "model and mount are shown side by side" 0 '^total .* shares differ by [0-9.]+ % in all$' \
  fstrace mix --client-model linux share/t.zst
fstrace mix --client-model linux --json share/t.zst >model.json
python3 - >verdict 2>&1 <<'E'
import json, re
def counts(name):
    text = open(name).read()
    nfs = text[text.index(" mounted on /mnt/nfs "):]
    return {k.lower(): int(n) for k, n in re.findall(r"^\s+([A-Z]+): (\d+) ", nfs[nfs.index("per-op"):], re.M)}
before, after = counts("share/direct.before"), counts("share/direct.after")
real = {k: after[k] - before[k] for k in after}
model = json.load(open("model.json"))["procedures"]
sent, modelled = sum(real.values()), sum(model.values())
off = sum(abs(real[k] / sent - model[k] / modelled) for k in real) * 100
print(f"model {modelled}, kernel {sent} requests; shares differ by {off:.1f} % in all;",
      ", ".join(f"{k} {model[k]}/{real[k]}" for k in real if real[k] or model[k]))
assert off < 20 and 0.8 < modelled / sent < 1.25
E
if [ $? = 0 ]; then ok "the modelled Linux client is near the real one"; else
  not_ok "the modelled Linux client is near the real one" "$(tail -n 1 verdict)"
fi
cat verdict

# replayed NAME KINDS TARGET: the replay kept the order, issued everything but operations of KINDS, and at least 99.9 % of what it
# issued of other kinds ended as recorded.
replayed() {
  fsreplay share/t.zst "$3" --timing asap --json >report.json 2>errors
  python3 - "$2" >verdict 2>&1 <<'E'
import json, sys
report = json.load(open("report.json"))
kinds = {k: v for k, v in report["kinds"].items() if k not in sys.argv[1].split()}
issued, differed = (sum(v[what] for v in kinds.values()) for what in ("issued", "differed"))
left_out = {k: v["impossible"] + v["refused"] for k, v in kinds.items() if v["impossible"] + v["refused"]}
print(f"{issued} issued, {differed} differed, left out {left_out}, {report['violations']} violations: {report['mismatches'][:3]}")
sys.exit(not (issued > 1000 and differed <= issued / 1000 and not left_out and not report["violations"]
              and report["operations"] == report["issued"] + sum(v["impossible"] for v in report["kinds"].values())))
E
  if [ $? = 0 ]; then ok "$1"; else not_ok "$1" "$(cat errors verdict)"; fi
}

# The guest's kernel asks for a capability attribute before a write; its NFSv3 mount has no extended attributes.
replayed "replay into memory" getxattr memory:
replayed "replay onto NFS" getxattr "${NFS_VFS_URL/$NFS_VFS_EXPORT/$NFS_VFS_EXPORT/again}"
check "the replayed tree equals the application's" \
  "$FSR_SOURCE/tests/apps/compare-trees" --ignore .fsreplay "$NFS_VFS_DIR/work" "$NFS_VFS_DIR/again"
