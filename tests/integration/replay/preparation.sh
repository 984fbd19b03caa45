#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a replay makes before and leaves behind: clones, targets that are prepared, reused, refused, cleaned up; a trace from a pipe.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

"$apps/make-input" input || exit 1
mkdir tar
check "captured" fsshim capture tar -o tar.zst --content full -- sh -c "cd tar && $apps/run tar $scratch/input"
fsreplay tar.zst tar.clones --clones 4 --timing asap -q --json >clones.json 2>clones.err
fstrace info --json tar.zst >info.json
check_report "4 clones perform exactly 4 times the operations" clones.json 'r["issued"] == 4 * info["operations"]'
mkdir many
for d in $(seq 10 59); do mkdir many/$d && (cd many/$d && touch $(seq -f f%g 10 39)); done
check "names of three characters in many directories are captured" fsshim capture many -o many.zst -- sh -c 'find many -type f | xargs cat'
check "each is prepared" fsreplay many.zst many.prepared --timing asap -q
for n in 0 1 2 3; do
  check "clone $n has the captured tree" "$apps/compare-trees" --content tar "tar.clones/clone-$n"
done
check "a prepared target is reused" sh -c \
  'fsreplay tar.zst reused --prepare-only -q && fsreplay tar.zst reused --reuse --timing asap -q'
mkdir links && echo text >links/a && for name in b c d e; do ln links/a links/$name; done
fsshim capture links -o links.zst -- sh -c 'cat links/? && stat links/?' >/dev/null
check "a hard link that is missing from a reused target is made again, whichever it is" sh -c '
  fsreplay links.zst linked --prepare-only -q || exit 1
  for name in a b c d e; do
    rm linked/$name
    fsreplay links.zst linked --reuse --timing asap -q && [ "$(stat -c %h linked/?)" = "$(printf "5\n5\n5\n5\n5")" ] || exit 1
  done'
check_status "a target with an earlier replay is refused without --reuse" 2 'reuse' fsreplay tar.zst reused -q
mkdir -p shared/thesis && echo mine >shared/thesis/precious
for option in --cleanup '--repeat 2' "--find-scale p50<1s"; do
  check_status "a target with other files is refused with --force $option" 2 'did not make' fsreplay tar.zst shared --force $option -q
done
check "--force accepts it for one run" fsreplay tar.zst shared --force --prepare-only -q
check_status "its tree is not taken for one that may be repaired" 2 'not empty' fsreplay tar.zst shared --reuse -q
check "the other files stay through a second run" sh -c \
  'fsreplay tar.zst shared --force --reuse --timing asap -q; [ "$(cat shared/thesis/precious)" = mine ]'
check "--cleanup leaves an empty target" sh -c \
  'fsreplay tar.zst gone --timing asap --cleanup -q && [ -z "$(ls -A gone)" ]'
check "a trace is replayed from standard input" sh -c 'fsreplay - piped --timing asap -q <tar.zst'
check "--results holds what the report says" sh -c \
  'fsreplay tar.zst db --timing asap -q --results run.sqlite >/dev/null &&
   [ "$(sqlite3 run.sqlite "select sum(issued) from kinds")" = "$(sqlite3 run.sqlite "select issued from run")" ]'
