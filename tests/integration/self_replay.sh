#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications are captured with their content and replayed onto a fresh directory: one operation at a time every outcome is
# as recorded and the trees are the same to the byte; with full concurrency nothing overtakes what it depends on.
. "$(dirname "$0")/common.sh"
. "$FSR_SOURCE/tests/integration/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
for app in git make tar sqlite maildir; do
  mkdir "$app"
  check "$app: captured" fsshim capture "$app" -o "$app.zst" --content full -- sh -c "cd $app && $apps/run $app $scratch/input"
  check "$app: the trace verifies" fstrace verify "$app.zst"
  check "$app: replayed one at a time, all as recorded" \
    fsreplay "$app.zst" "$app.strict" --order strict --timing asap -q
  check "$app: the trees are alike" "$apps/compare-trees" --content --ignore .fsreplay "$app" "$app.strict"
  fsreplay "$app.zst" "$app.free" --order resource --timing asap -q --json >"$app.json" 2>"$app.err"
  check_report "$app: replayed with full concurrency" "$app.json" \
    'r["violations"] == 0' 'r["matched"] >= 0.999 * r["issued"]' 'len(r["mismatches"]) == min(r["differed"], 20)' \
    'r["issued"] == r["operations"]'
  check "$app: the trees are alike after full concurrency" "$apps/compare-trees" --content --ignore .fsreplay "$app" "$app.free"
done

fsreplay tar.zst tar.clones --clones 4 --timing asap -q --json >clones.json 2>clones.err
fstrace info --json tar.zst >info.json
check_report "4 clones perform exactly 4 times the operations" clones.json 'r["issued"] == 4 * info["operations"]'
for n in 0 1 2 3; do
  check "clone $n has the captured tree" "$apps/compare-trees" --content tar "tar.clones/clone-$n"
done
check "a prepared target is reused" sh -c \
  'fsreplay tar.zst reused --prepare-only -q && fsreplay tar.zst reused --reuse --timing asap -q'
check_status "a target with an earlier replay is refused without --reuse" 2 'reuse' fsreplay tar.zst reused -q
check "--cleanup leaves an empty target" sh -c \
  'fsreplay tar.zst gone --timing asap --cleanup -q && [ -z "$(ls -A gone)" ]'
check "a trace is replayed from standard input" sh -c 'fsreplay - piped --timing asap -q <tar.zst'
check "--results holds what the report says" sh -c \
  'fsreplay tar.zst db --timing asap -q --results run.sqlite >/dev/null &&
   [ "$(sqlite3 run.sqlite "select sum(issued) from kinds")" = "$(sqlite3 run.sqlite "select issued from run")" ]'
