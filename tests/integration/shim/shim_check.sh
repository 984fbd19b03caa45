#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fsshim check: what it says of a capture is what one then is, and it leaves nothing behind.
. "$(dirname "$0")/../harness/common.sh"

mkdir d temporary
(cd d && exec sleep 100) &
own_process $!
until [ "$(readlink /proc/$!/cwd)" = "$scratch/d" ]; do sleep 0.1; done
check 'a directory is checked' sh -c 'TMPDIR=$PWD/temporary fsshim check d >said'
check 'who holds it is named' grep -q "$! sleep" said
check 'its temporary files are gone' rmdir temporary
check 'nothing is mounted, no capture listed' sh -c '! grep "$1" /proc/self/mounts && ! fsshim list | grep "$1"' sh "$scratch"
check 'it stays empty' test -z "$(ls -A d)"

fsshim capture d -o t.zst -- fsshim check d --calls-only >calls 2>/dev/null
check 'the transport is that of a capture' test "$(sed -n 's/^transport *//p' said)" = "$(fstrace info t.zst | sed -n 's/^transport *//p')"
check 'a call costs more in a capture' test "$(cut -d ' ' -f 1 calls)" -gt "$(fsshim check d --calls-only | cut -d ' ' -f 1)"
check 'it was captured: many calls' test "$(fstrace stat --csv t.zst | grep -c getattr)" -ge 1
check 'the cost is told as a difference' grep -Eq '^cost +stat\(2\) takes [0-9.]+ [nu]s without a capture, and [0-9.]+ [num]s in a capture, [0-9.]+ [num]s more$' said
check 'what the kernel refuses' grep -q 'RWF_NOWAIT.*EOPNOTSUPP' said

check_status 'auto: content is captured by FUSE, with the reason' 0 '^fsshim: --via auto: captures by FUSE, because --content: not possible' \
  fsshim capture d --via auto --content full -o auto.zst -- true
check 'auto: the trace tells it' sh -c 'fstrace info auto.zst | grep -q "^transport.*/dev/fuse"'

check_status 'no directory' 2 '^fsshim: .*/missing: No such file' fsshim check "$scratch/missing"
check_status 'what can not be captured' 2 "^fsshim: /proc: can't be captured" fsshim check /proc
check_status 'a captured directory' 2 'already captured' fsshim capture d -o o.zst -- fsshim check d
