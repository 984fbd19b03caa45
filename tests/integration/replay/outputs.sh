#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs print and the files they make: whole, as the user's umask says, or a failure that is told; and what they leave
# behind when they are interrupted.
. "$(dirname "$0")/../harness/common.sh"

mkdir d
fsshim capture d -o a.zst -- sh -c 'cd d && for i in $(seq 50); do echo $i >f$i; done' 2>capture.err || {
  not_ok 'a trace' "$(tail -n 1 capture.err)"
  exit
}

# --- a full standard output
full() { check_status "a full output: $*" 1 'standard output: ' sh -c '"$@" >/dev/full' sh "$@"; }
full fsshim --help
full fsshim list
full fsshim list --json
full fstrace --version
for sub in info dump stat mix verify; do full fstrace $sub a.zst; done
for sub in info dump stat mix; do full fstrace $sub --json a.zst; done
full fstrace sql a.zst 'select * from ops'
full fstrace compare a.zst a.zst
full fstrace cut a.zst --to 10s -o cut.zst
full fstrace export a.zst --format fio-iolog -o -
full fsreplay --help
full fsreplay a.zst null: --timing asap -q
full fsreplay a.zst null: --timing asap -q --json
full fsreplay a.zst null: --dry-run
full fsreplay target operations
full fsreplay target stat memory:
full fsreplay target ls d
full fsreplay target cat d f1
full fsbench --help
full fsbench nhfsstone -c 50 -l 1000 memory:
check_status 'nothing is printed into a file that took the number of a closed output' 1 '' \
  sh -c 'fsreplay a.zst closed --timing asap -q --results closed.sqlite >&-'
check 'nor into the results' python3 -c 'import sqlite3; sqlite3.connect("closed.sqlite").execute("select count(*) from run").fetchone()'

# --- metrics: what is no file of its own is written to, what a link leads to is replaced
ln -s /proc/self/fd/1 stdout
for program in 'fsshim list' 'fsreplay a.zst null: --timing asap -q'; do
  name=${program%% *}
  $program --metrics stdout 2>/dev/null | cat >piped.prom
  check "$name: metrics into a pipe" eval 'grep -qx "# EOF" piped.prom && test -L stdout'
  echo kept >appended.prom
  $program --metrics stdout >>appended.prom 2>/dev/null
  check "$name: metrics into what standard output is appended to" eval 'head -n 1 appended.prom | grep -qx kept && grep -qx "# EOF" appended.prom'
  ln -sf /dev/null null
  check "$name: metrics into a device" eval "$program --metrics null >null.out 2>&1 && test -L null && test -c /dev/null"
  check_status "$name: metrics into a full device" 2 'full: No space left' $program --metrics /dev/full
  mkdir -p far
  echo old >far/m.prom
  ln far/m.prom far/other-name
  ln -sf far/m.prom linked.prom
  check "$name: metrics behind a link" $program --metrics linked.prom
  check "$name: the link is left, its file replaced" eval 'test -L linked.prom && tail -n 1 far/m.prom | grep -qx "# EOF" && grep -qx old far/other-name'
  rm -r far
done

# --- files that can't be made are refused before the run
refused() {  # NAME PATTERN COMMAND...
  check_status "$1" 2 "$2" "${@:3}"
  check "$1: nothing was run" test ! -e t
}
mkdir -p directory
echo old >old.svg
refused 'results below a missing directory' 'no/r.sqlite: No such file' fsreplay a.zst t --results no/r.sqlite
refused 'results in place of a directory' 'directory: exists' fsreplay a.zst t --results directory
refused 'a drawing below a missing directory' 'no/curve.svg.*: No such file' fsreplay mix:laddis t --load 50 --duration 1s --svg no/curve.svg
refused 'a drawing in place of a directory' 'directory: not a regular file' fsreplay mix:laddis t --load 50 --duration 1s --svg directory
refused 'a trace of the replay below a missing directory' 'no/r.zst: No such file' fsreplay a.zst t --record no/r.zst

# --- a failure at the end is told, skips nothing, and leaves the old file
mkdir small
mount -t tmpfs -o size=2m none small
check_status 'results' 0 '' fsreplay a.zst memory: --timing asap -q --results small/r.sqlite
check_status 'a drawing' 0 '' fsreplay mix:laddis memory: --load 50 --duration 1s --svg small/curve.svg
cp small/r.sqlite old.sqlite
cp small/curve.svg old.svg
dd if=/dev/zero of=small/fill bs=4k status=none 2>/dev/null
check_status 'a drawing on a full disk' 1 'small/curve.svg: No space left' \
  fsreplay mix:laddis memory: --load 50 --duration 1s --svg small/curve.svg
check_status 'results on a disk that is full at the start' 2 'small/r.sqlite: .*(full|No space)' fsreplay a.zst t --results small/r.sqlite
truncate -s -16k small/fill
check_status 'results that have no room' 2 'small/r.sqlite: No space left' \
  fsreplay a.zst cleaned --timing asap -q --cleanup --results small/r.sqlite
check 'nothing was run' test ! -e cleaned
check 'the old files are as they were' sh -c 'cmp small/r.sqlite old.sqlite && cmp small/curve.svg old.svg'
check 'nothing is left beside them' test "$(ls small | tr '\n' ' ')" = 'curve.svg fill r.sqlite '
umount small

# --- modes
(
  umask 027  # a machine that stands still changes statuses, not modes
  fsreplay a.zst modes --timing asap -q --results m.sqlite --metrics m.prom
  fsreplay mix:laddis modes2 --load 50 --duration 1s -q --svg m.svg
  fstrace report a.zst -o m.html
  fstrace compare a.zst a.zst --html m.compare.html
  fstrace export a.zst --format fio-iolog -o m.fio
) >/dev/null 2>&1
check 'results, metrics, drawings, pages and exports are as the umask says' \
  test "$(stat -c %a m.sqlite m.prom m.svg m.html m.compare.html m.fio 2>&1 | tr '\n' ' ')" = '640 640 640 640 640 640 '
mkdir open
(umask 0 && mkdir open/old && : >open/old/file &&
  fsshim capture open -o open.zst -- sh -c 'cd open; ls -l old; mkdir new; : >new/file; mkfifo new/pipe') >/dev/null 2>&1
(umask 077 && fsreplay open.zst replayed --timing asap -q --workers 4) >/dev/null 2>&1
check 'what is replayed has the modes of the capture' \
  test "$(cd replayed && stat -c %a old old/file new new/file new/pipe 2>&1 | tr '\n' ' ')" = '777 666 777 666 666 '

# --- ^C
mkdir many
(cd many && seq 12000 | xargs touch)
fsshim capture many -o many.zst -- sh -c 'ls -l many' >/dev/null 2>&1
for number in INT HUP; do
  env --default-signal=$number fsreplay many.zst interrupted --workers 1 --cleanup -q >interrupted.out 2>&1 &
  replay=$!
  until [ -e interrupted/100 ] || ! kill -0 $replay 2>/dev/null; do sleep 0.01; done
  kill -$number $replay
  status=0
  wait $replay || status=$?
  check "SIG$number during the preparation: status 1" test $status = 1
  check "SIG$number during the preparation: the report says so" grep -q 'not clean: run interrupted' interrupted.out
  check "SIG$number during the preparation: --cleanup cleans up" test -z "$(ls -A interrupted)"
done
"$FSR_BUILD/tests/bench/make_trace" large.zst --ops 2000000
env --default-signal=INT fsreplay large.zst --dry-run memory: >large.out 2>&1 &
replay=$!
# The shell that becomes fsreplay catches SIGINT, too.
until [ "$(cat /proc/$replay/comm 2>/dev/null)" = fsreplay ] && grep -q '^SigCgt:.*[2367abef]$' /proc/$replay/status ||
  ! kill -0 $replay 2>/dev/null; do sleep 0.01; done
kill -INT $replay
status=0
wait $replay || status=$?
check 'SIGINT while the trace is read: status 2' test $status = 2
check 'SIGINT while the trace is read ends it' grep -qx 'fsreplay: interrupted' large.out
check_status 'a signal that was ignored stays ignored' 0 '' env --ignore-signal=HUP,INT,TERM sh -c '
  fsreplay "$1" ignored --workers 1 -q >/dev/null & until [ -e ignored/100 ]; do sleep 0.01; done; kill -HUP $!; kill -INT $!; kill -TERM $!; wait $!' sh many.zst

# --- a run that ends before its trace
fsshim capture d -o slow.zst -- sh -c 'cat d/f1; sleep 3; cat d/f2' >/dev/null 2>&1
fsreplay slow.zst slow -q --duration 300ms >slow.out 2>&1
check 'operations that were not issued are not called issued' sh -c 'grep -q "were not issued" slow.out && ! grep -q "every operation was issued" slow.out'
