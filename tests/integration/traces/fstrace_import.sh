#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Real applications under strace: what is imported replays onto a directory with every outcome as recorded, and leaves the same tree.
# Samples of the other formats replay too.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"
apps=$FSR_SOURCE/tests/apps data=$FSR_SOURCE/tests/data/import

# replays NAME TRACE
replays() {
  check_status "$1: verifies" "$3" '' fstrace verify "$2"
  fsreplay "$2" "$2.tree" --timing asap --order strict -q --json >"$2.json" 2>"$2.err"
  check_report "$1: replays as recorded" "$2.json" "r['issued'] > 4 and r['differed'] == 0" "r['matched'] >= r['issued'] - 1" "r['violations'] == 0"
}

"$apps/make-input" input || exit 1
for app in git tar sqlite; do
  mkdir "$app"
  strace -f -ttt -T -y -o "$app.log" sh -c "cd $app && $apps/run $app $scratch/input" >/dev/null 2>&1
  # What git maps is not in the log, and is told.
  case $app in git) lossy=1 ;; *) lossy=0 ;; esac
  check_status "$app: imported" $lossy '^.*zst: [0-9,]+ operations' fstrace import "$app.log" --directory "$scratch/$app" -o "$app.zst"
  replays "$app" "$app.zst" $lossy
  check "$app: the trees are alike" "$apps/compare-trees" --ignore .fsreplay "$app" "$app.zst.tree"
done
check_status "what is lost is in the trace" 0 'lost: [0-9]+ mmap of files' fstrace info git.zst
check_status "the clock is in the trace" 0 'times: the wall clock' fstrace info tar.zst
check_status "what nobody can know is in the trace" 0 'unknown after an import: user and group of the caller' fstrace info tar.zst
check_status "through a pipe" 0 '' bash -c "cat tar.log | fstrace import - --directory '$scratch/tar' -o piped.zst"
cmp -s <(fstrace dump tar.zst) <(fstrace dump piped.zst) && ok "a pipe gives the same" || not_ok "a pipe gives the same"
check_status "nothing below the directory" 2 'no operation on a file' fstrace import tar.log --directory /nowhere -o none.zst
check_status "a relative directory that has nothing" 2 'no operation on a file' fstrace import tar.log --directory here -o none.zst
check_status "a relative directory" 0 '' fstrace import tar.log --directory ./tar/ -o relative.zst
cmp -s <(fstrace dump tar.zst) <(fstrace dump relative.zst) && ok "a relative directory gives the same" || not_ok "a relative directory gives the same"
[ ! -e none.zst ] && ok "no trace without operations" || not_ok "no trace without operations"

for sample in "$data"/*; do
  name=$(basename "$sample")
  case $name in strace* | fio* | loggedfs*) directory=/srv/work ;; *) directory=/ ;; esac
  fstrace import "$sample" --directory $directory -o "$name.zst" >/dev/null 2>&1
  replays "$name" "$name.zst" 0
done
