#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications' traces replayed over NFSv4.1 onto NFS-Ganesha, also while the server restarts and lets its client reclaim what
# it had open: what NFS can express has the recorded outcome, the exported tree is the captured one.
[ -n "${NFS4_VFS_URL:-}" ] || NFS_GRACE=1 exec "$(dirname "$0")/../servers/ganesha" "$0"
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
for app in git sqlite sqlite-wal maildir; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
  mkdir "$NFS_VFS_DIR/$app"
  fsreplay "$app.zst" "${NFS4_VFS_URL/vfs/vfs/$app}" --timing asap -q --json >"$app.json" 2>"$app.err"
  check_report "$app: outcomes over NFSv4.1" "$app.json" \
    'r["violations"] == 0' "$(as_recorded "$app")" 'r["issued"] > 0' \
    'r["issued"] + sum(k["impossible"] + k["refused"] for k in r["kinds"].values()) == r["operations"]' \
    'set(k for k, v in r["kinds"].items() if v["impossible"]) <= {"getxattr", "setxattr", "listxattr", "removexattr", "fallocate",
     "lseek", "ioctl", "tmpfile", "syncfs", "rename"}'
  check "$app: the exported tree is the captured one" \
    "$apps/compare-trees" --content --ignore .fsreplay "$app" "$NFS_VFS_DIR/$app"
done

mkdir "$NFS_VFS_DIR/restart"
fsreplay sqlite.zst "${NFS4_VFS_URL/vfs/vfs/restart}" --scale 0.1x -q --json >restart.json 2>restart.err &
own_process $!
replay=$!
sleep 2
"$FSR_SOURCE/tests/servers/ganesha" --stop
"$FSR_SOURCE/tests/servers/ganesha" --start
wait "$replay"
check_report "a restart of the server in mid-run" restart.json 'r["violations"] == 0' \
  'r["matched"] >= 0.999 * (r["matched"] + r["differed"])' 'r["counters"]["sessions made again"] == 1' \
  'r["counters"]["open files lost"] + r["counters"]["locks lost"] == 0'
check "the exported tree is the captured one all the same" \
  "$apps/compare-trees" --content --ignore .fsreplay sqlite "$NFS_VFS_DIR/restart"
