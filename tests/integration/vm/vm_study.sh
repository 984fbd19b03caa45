#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS on the mounts of Debian's stock kernel, small: each of its clients has rates and requests on the page.
. "$(dirname "$0")/../harness/common.sh"

check 'the study runs' "$FSR_SOURCE/tools/study-9p-nfs" --kernel --memory 128 --size 1 --part buffered --part requests-buffered --rounds 2 --transactions 20 \
  --keep-caches -o page.md
check 'each protocol has rates' grep -Eq '^\| transactions \| [^|]* (\| [0-9,.]+ ){5}\|' page.md
for name in NFSv3 NFSv4.1 9P2000.L 9P2000.u 9P2000 9P2000.L-8K 9P2000.L-loose 9P2000.L-mmap; do
  check "$name has requests" grep -Eq "^\| $name \| [0-9]" page.md
done
check "they are the kernel's" grep -q "^## The kernel's mounts" page.md
check 'every run ended well' eval '! grep -Eq "^- (round|left out)" page.md'
