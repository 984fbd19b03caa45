#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The text of fstrace doctor: what failed in a trace, what differed in a run, and no name of a file, host or program.
. "$(dirname "$0")/../harness/common.sh"

mkdir -p SECRETdir/SECRETsub
cp "$(command -v cat)" SECRETprogram
fsshim capture SECRETdir -o SECRETtrace.zst -- sh -c 'cd SECRETdir; echo x >SECRETsub/SECRETfile; ../SECRETprogram SECRETsub/SECRETfile
  for i in 1 2 3; do cat SECRETmissing; done; mv SECRETsub/SECRETfile SECRETmoved' >/dev/null 2>&1
# The replay finds what was not there in the capture.
mkdir -p SECRETtarget/SECRETmissing
fsreplay SECRETtrace.zst SECRETtarget --timing asap --force --results SECRETruns.db --label SECRETlabel >report 2>&1

fstrace doctor >machine
fstrace doctor SECRETtrace.zst >trace
fstrace doctor SECRETruns.db >run
check 'the machine: versions and kernel' sh -c 'grep -q "^program .*fstrace .*trace format" machine && grep -q "^kernel .*$(uname -r)" machine && grep -q "/dev/fuse" machine'
check 'a trace: what failed' grep -Eq '^ +lookup ENOENT [1-9]' trace
check 'a trace: its counts are those of dump' grep -q "^operations *$(fstrace dump SECRETtrace.zst | wc -l) in" trace
check 'a trace: how it ended' grep -q '^closing *clean: ' trace
differed=$(sqlite3 SECRETruns.db 'select differed from run order by id desc limit 1')
check 'a run: counts' grep -q "^counts .*differed $differed," run
check 'a run: the kind of target' grep -q '^target *file:, ' run
sqlite3 SECRETruns.db "select kind || ': expected ' || expected || ', got ' || got || ': ' || count from differences" >differences
check 'a run: what differed' sh -c 'test -s differences && while read -r row; do grep -qF "$row" run || exit 1; done <differences'
for text in machine trace run; do
  check "$text: no name" sh -c "! grep -n -e SECRET -e '$scratch' $text"
  check "$text: no host" sh -c "! grep -nwF -- '$(uname -n)' $text"
done
head -c $(($(stat -c %s SECRETtrace.zst) - 50)) SECRETtrace.zst >cut.zst
check_status 'a trace that was cut' 1 '^closing +missing' fstrace doctor cut.zst
check_status 'what is neither' 2 'not a trace' fstrace doctor report
check_status 'what is not there' 2 'No such file' fstrace doctor nothing.zst
