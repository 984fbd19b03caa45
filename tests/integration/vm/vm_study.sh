#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The study of 9P and NFS on the mounts of Debian's stock kernel, small: each of its clients has rates on the page.
. "$(dirname "$0")/../harness/common.sh"

check 'the study runs' "$FSR_SOURCE/tools/study-9p-nfs" --kernel --part buffered --rounds 2 --transactions 20 --keep-caches -o page.md
check 'each protocol has rates' grep -Eq '^\| transactions \| [^|]* (\| [0-9,]+ ){5}\|' page.md
check "they are the kernel's" grep -q "^## The kernel's mounts" page.md
check 'every run ended well' eval '! grep -q "^- round" page.md'
