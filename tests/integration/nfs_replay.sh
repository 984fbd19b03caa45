#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications' traces replayed over NFSv3 onto NFS-Ganesha: what NFS can express has the recorded outcome, the exported tree
# is the captured one, what NFS cannot express is counted by kind.
[ -n "${NFS_VFS_URL:-}" ] || exec "$(dirname "$0")/../servers/ganesha" "$0"
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
for app in git make tar sqlite sqlite-wal maildir; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
  for order in strict resource; do
    fsreplay "$app.zst" "$NFS_VFS_URL" --order $order --timing asap -q --json >"$app.json" 2>"$app.err"
    check_report "$app: outcomes over NFSv3, order $order" "$app.json" \
      'r["violations"] == 0' "$(as_recorded "$app")" 'r["issued"] > 0' \
      'r["issued"] + sum(k["impossible"] + k["refused"] for k in r["kinds"].values()) == r["operations"]' \
      'set(k for k, v in r["kinds"].items() if v["impossible"]) <= {"getxattr", "setxattr", "listxattr", "removexattr", "getlk",
       "setlk", "flock", "fallocate", "lseek", "ioctl", "tmpfile", "syncfs", "rename"}'
    check "$app: the exported tree is the captured one, order $order" \
      "$apps/compare-trees" --content --ignore .fsreplay "$app" "$NFS_VFS_DIR"
    # The server caches what is there: empty the export while it is down.
    "$FSR_SOURCE/tests/servers/ganesha" --stop
    find "$NFS_VFS_DIR" -mindepth 1 -delete
    "$FSR_SOURCE/tests/servers/ganesha" --start
  done
done

# Ganesha's export in memory keeps at most 2 MiB of a file and answers EIO to a rename over an existing name, as git does them.
# The tree behind it can't be compared.
for app in tar sqlite; do
  fsreplay "$app.zst" "$NFS_MEM_URL" --timing asap -q --json --cleanup >"$app.json" 2>"$app.err"
  check_report "$app: outcomes over NFSv3 onto memory" "$app.json" 'r["violations"] == 0' \
    'r["matched"] >= 0.999 * (r["matched"] + r["differed"])' 'r["issued"] > 0'
done
