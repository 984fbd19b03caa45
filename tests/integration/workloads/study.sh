#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS, small: it ends with a page that holds every table, also from what it saved.
. "$(dirname "$0")/../harness/common.sh"

small=(--rounds 2 --transactions 50 --size 1 --files 1 --keep-caches)
check 'the study runs' "$FSR_SOURCE/tools/study-9p-nfs" "${small[@]}" --save saved.json -o page.md
for row in transactions 'file read' put_block seeks seq_create; do
  check "a row of $row" grep -Eq "^\| $row \| .*[1-9].* \|" page.md
done
check 'each protocol has rates in it' grep -Eq '^\| put_block \| KiB/s (\| [0-9,]+ ){4}\|' page.md
check 'what earlier results say is beside it' grep -q '^- PostMark, buffered, transactions' page.md
check 'the same page from what was saved' "$FSR_SOURCE/tools/study-9p-nfs" "${small[@]}" --from saved.json -o again.md
check 'it is the same' cmp page.md again.md
