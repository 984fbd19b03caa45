#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications' traces replayed over 9P2000.L onto diod: what 9P can express has the recorded outcome, the exported tree is the
# captured one, what 9P cannot express is counted by kind.
[ -n "${P9_URL:-}" ] || exec "$(dirname "$0")/../servers/diod" "$0"
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
for app in git make tar sqlite maildir; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
  for order in strict resource; do
    fsreplay "$app.zst" "$P9_URL" --order $order --timing asap -q --json >"$app.json" 2>"$app.err"
    check_report "$app: outcomes over 9P, order $order" "$app.json" \
      'r["violations"] == 0' 'r["matched"] >= 0.999 * (r["matched"] + r["differed"])' 'r["issued"] > 0' \
      'r["issued"] + sum(k["impossible"] + k["refused"] for k in r["kinds"].values()) == r["operations"]' \
      'set(k for k, v in r["kinds"].items() if v["impossible"]) <= {"getxattr", "setxattr", "removexattr", "fallocate", "lseek",
       "ioctl", "tmpfile", "syncfs", "rename"}'
    check "$app: the exported tree is the captured one, order $order" \
      "$apps/compare-trees" --content --ignore .fsreplay "$app" "$P9_DIR"
    find "$P9_DIR" -mindepth 1 -delete
  done
done
