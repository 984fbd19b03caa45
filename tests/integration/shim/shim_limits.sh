#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Limits of memory and processor time, with which fsshim is started, do not end it in the middle of a capture. Not for programs with
# sanitizers, which reserve all address space.
. "$(dirname "$0")/../harness/common.sh"
mkdir d

within() { (ulimit "$1" "$2"; shift 2; "$@"); }
for limit in '-Sv 90000' '-Sd 40000' '-St 1'; do
  # shellcheck disable=SC2086
  check_status "a command under ulimit $limit" 0 "^${limit#* }$" within $limit fsshim capture d -o "soft${limit%% *}.zst" -- \
    sh -c "dd if=/dev/zero of=d/n bs=1 count=60000 status=none; ulimit ${limit%% *}"
done
as_limited_root() { within "$1" "$2" setpriv --bounding-set=-sys_resource fsshim capture d -o hard.zst -- true; }
check_status "too little address space is refused" 2 "only 87.9 MiB of address space \(ulimit -Hv\)" as_limited_root -v 90000
check_status "too little memory is refused" 2 "only 39.1 MiB of data \(ulimit -Hd\)" as_limited_root -d 40000
check_status "too small stacks are refused" 2 "only 64.0 KiB of stack \(ulimit -Hs\)" as_limited_root -s 64
check "--force starts it" eval '(ulimit -d 200000; setpriv --bounding-set=-sys_resource fsshim capture d -o forced.zst --force -- true)'
check_status "an end by processor time is said before" 0 "end fsshim after 99 s of processor time" as_limited_root -t 99
