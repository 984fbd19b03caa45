#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS, small: measured part by part, it ends with a page that holds every table, also from what it saved.
. "$(dirname "$0")/../harness/common.sh"

study=("$FSR_SOURCE/tools/study-9p-nfs" --rounds 2 --transactions 50 --size 1 --files 1 --keep-caches --save saved.json)
check 'a part of the study runs' "${study[@]}" --part bonnie -o part.md
check 'and is all there is' eval "grep -q '^### bonnie' part.md && ! grep -q '^### PostMark' part.md"
check 'the others run' "${study[@]}" -o page.md
check 'what was measured already stays' eval 'grep -qxF "$(grep "^| put_block" part.md)" page.md'
for row in transactions 'file read' put_block seeks seq_create; do
  check "a row of $row" grep -Eq "^\| $row \| .*[1-9].* \|" page.md
done
for row in transactions put_block ran_del; do
  check "each protocol has rates of $row" grep -Eq "^\| $row \| [^|]* (\| [0-9,]+ ){5}\|" page.md
done
check 'every run ended well' eval '! grep -q "^- round" page.md'
check 'what earlier results say is beside it' grep -q '^| PostMark, files created | 200 : 10' page.md
check 'the same page from what was saved' "$FSR_SOURCE/tools/study-9p-nfs" --from saved.json -o again.md
check 'it is the same' cmp page.md again.md
