#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications' traces replayed over AFP onto Netatalk: what AFP can express has the recorded outcome, the volume's tree is the
# captured one as far as the protocol holds it, what AFP cannot express is counted by kind.
[ -n "${AFP_URL:-}" ] || exec "$(dirname "$0")/../servers/netatalk" "$0"
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
for app in git make tar sqlite sqlite-wal maildir; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
  fsreplay "$app.zst" "$AFP_URL" --timing asap -q --json >"$app.json" 2>"$app.err"
  check_report "$app: outcomes over AFP" "$app.json" \
    'r["violations"] == 0' "$(as_recorded "$app")" 'r["issued"] > 0' \
    'not [m for m in r["mismatches"] if m["kind"] == "flush"]' \
    'r["issued"] + sum(k["impossible"] + k["refused"] for k in r["kinds"].values()) == r["operations"]' \
    'set(k for k, v in r["kinds"].items() if v["impossible"]) <= {"getxattr", "setxattr", "removexattr", "fallocate", "lseek",
     "ioctl", "tmpfile", "rename", "setattr"}'
  check "$app: the volume's tree is the captured one" \
    "$apps/compare-trees" --content --over-afp --ignore .fsreplay "$app" "$AFP_DIR"
  find "$AFP_DIR" -mindepth 1 -delete
done
