#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fsreplay with what it must refuse: one line that says what is wrong, status 2 where it has not started and 1 where it has, and
# nothing changed outside the target.
. "$(dirname "$0")/../harness/common.sh"
integration=$FSR_BUILD/tests/integration

# refused NAME PATTERN COMMAND...: status 2, exactly one line on stderr, which matches, and nothing on stdout.
refused() {
  local name=$1 pattern=$2 status=0
  shift 2
  "$@" >stdout 2>stderr </dev/null || status=$?
  if [ $status != 2 ]; then
    not_ok "$name" "$* ended with $status, not 2: $(head -n 3 stderr | tr '\n' '|')"
  elif [ "$(wc -l <stderr)" != 1 ] || [ -s stdout ] || ! grep -Eq "^fsreplay: .*($pattern)" stderr; then
    not_ok "$name" "expected one line with '$pattern': $(head -n 5 stderr stdout | tr '\n' '|')"
  else
    ok "$name"
  fi
}

mkdir share
fsshim capture share -o good.zst --content full -- sh -c \
  'cd share; for n in 1 2 3; do for i in $(seq 300); do echo $i >f$n.$i; done; mkdir d$n; mv f$n.1 d$n; sleep 1.1; done' 2>capture.err || {
  not_ok 'a trace to spoil' "$(tail -n 1 capture.err)"
  exit
}

# Options and inputs.
refused 'an unknown option' 'frobnicate' fsreplay good.zst t --frobnicate
refused 'an option misspelt' '--sclae: no such option; did you mean --scale' fsreplay good.zst t --sclae 2
refused 'the option that other replayers have' '--speed: no such option; did you mean --scale' fsreplay good.zst t --speed 2
refused 'a kind of operation that does not exist' "'rread': no such kind of operation; did you mean read\? There are null, .*, syncfs" \
  fsreplay good.zst t --allow inexpressible=rread
refused 'a URL without a server' "bad URL 'nfs4://': the host is missing; expected nfs4://HOST/PATH" fsreplay good.zst nfs4://
refused_by() {  # PROGRAM NAME PATTERN COMMAND...
  check_status "$2" 2 "^$1: $3" "${@:4}"
}
refused_by fstrace 'a kind that fstrace does not know' '--op rread: no such kind of operation; did you mean read\? There are null, ' fstrace dump --op rread good.zst
refused_by fsshim 'a kind that fsshim does not know' '--only op=rread: op=rread: no such kind of operation; did you mean read\?|--only op=rread: no such kind' \
  fsshim capture share -o x.zst --only op=rread
refused_by fstrace 'a table that does not exist' 'sql: no such table: op; did you mean ops\? There are ' fstrace sql good.zst 'select * from op'
refused 'a mix on no URL' "bad URL 'nfs:': expected scheme://host/path" fsreplay mix:sfs97-v3 nfs:
refused 'no input' 'INPUT is required: a trace, a mixfile, mix:NAME, a model, model:NAME, or - for' fsreplay
refused 'a scale that is said once' 'scale -3: expected a factor above 0' fsreplay good.zst t --scale -3
refused 'no time at all' '--duration 0: expected a time above 0' fsreplay good.zst t --duration 0
refused 'scale 0' 'factor above 0' fsreplay good.zst t --scale 0x
refused 'scale of no number' 'factor above 0' fsreplay good.zst t --scale fast
refused 'a negative start' 'a time such as' fsreplay good.zst t --from=-5s
refused 'an end before the start' 'later than --from' fsreplay good.zst t --from 5s --to 4s
refused 'no clones' 'clones' fsreplay good.zst t --clones 0
refused 'a fraction of a clone' 'clones 1.5: expected a whole number .* --scale' fsreplay good.zst t --clones 1.5
refused 'an unknown timing' "--timing: expected original, think or asap, found 'never'" fsreplay good.zst t --timing never
refused 'no ranks' "--ranks: expected a number from 1 to 4096, found '0'" fsreplay good.zst t --ranks 0
refused 'a negative number of workers' "--workers: expected a number from 1 to 1024, found '-1'" fsreplay good.zst t --workers -1
refused 'a number of workers that wraps to 1' "--workers: expected a whole number from 0 to 4294967295, found '-18446744073709551615'" \
  fsreplay good.zst t --workers -18446744073709551615
refused 'a negative seed' "--seed: expected a whole number from 0 to 18446744073709551615, found '-1'" fsreplay mix:sfs97-v3 null: --seed -1
refused 'a seed that is too large' "--seed: expected a whole number .*, found '18446744073709551616'" fsreplay mix:sfs97-v3 null: --seed 18446744073709551616
refused 'a seed that is no number' "--seed: expected a whole number .*, found '1.5'" fsreplay mix:sfs97-v3 null: --seed 1.5
refused 'an option without its value' '--seed: expected a value$' fsreplay mix:sfs97-v3 null: --seed
refused 'an option given twice' '--seed: given 2 times, expected once$' fsreplay mix:sfs97-v3 null: --seed 1 --seed 2
refused 'a switch with a value' "--json: expected no value, found 'maybe'" fsreplay good.zst t --json=maybe
echo 'sclae=2' >options.ini
refused 'an unknown option in a file of options' 'sclae: no such option, in the file of --config; did you mean scale\?$' fsreplay good.zst t --config options.ini
for line in 'scale 2' $'scale\t2' 'no such = 2'; do
  echo "$line" >line.ini
  refused "a line that is no option in a file of options: $line" "${line% =*}: no such option; expected OPTION = VALUE, in the file of --config$" fsreplay good.zst t --config line.ini
done
echo '[a b]' >section.ini
refused 'a section in a file of options' '\[a b]: a section; expected OPTION = VALUE, in the file of --config$' fsreplay good.zst t --config section.ini
refused 'a file of options that is missing' 'missing.ini: can.t be read$' fsreplay good.zst t --config missing.ini
refused 'an unknown order' 'order' fsreplay good.zst t --order random
refused 'an unknown user' 'self, recorded or map' fsreplay good.zst t --uid root
refused 'a missing map of users' 'nomap' fsreplay good.zst t --uid map=nomap
refused 'a missing input' 'missing.zst: No such file' fsreplay missing.zst t
refused 'a directory as input' 'share' fsreplay share t
: >empty
refused 'an empty input' 'empty' fsreplay empty t
echo 'this is a text' >text
refused 'a text as input' "text:1: not a mixfile: expected output of nfsstat.* found 'this is a text'" fsreplay text t
zstd -q text -o text.zst
refused 'a zstd file that is no trace' 'text.zst: .*trace' fsreplay text.zst t
zstdcat good.zst >unpacked
refused 'a trace that was decompressed' 'decompressing a trace loses the header' fsreplay unpacked t
refused 'nothing on standard input' 'standard input' fsreplay - t
"$integration/hostile_trace" --newer >newer.zst
refused 'a newer format' 'newer.zst: .*version' fsreplay newer.zst t
refused 'a range without operations' 'no operations' fsreplay good.zst t --from 10h

# Targets.
refused 'an unknown kind of target' 'no such kind' fsreplay good.zst gopher://host/
for near in null memory; do
  refused "'$near' without its colon" "$near: no such directory; did you mean $near:\?" fsreplay good.zst $near
done
refused "'nfs' without a server" 'nfs: no such directory; did you mean nfs://SERVER/EXPORT\?' fsreplay good.zst nfs
refused 'a target as mount(8) takes it' 'did you mean nfs://server/export\?' fsreplay good.zst server:/export
refused 'a target as mount(8) takes it, with a domain' 'did you mean nfs://nas.example.com/vol/a\?' fsreplay good.zst nas.example.com:/vol/a
refused 'a target where the input belongs' 'null:: is a target, .*did you mean fsreplay good.zst null:\?' fsreplay null: good.zst
refused 'an unknown option of NFS' "unknown option 'vesr'; there are version, vers, .*resvport" fsreplay good.zst nfs://127.0.0.1/x?vesr=3
refused 'another transport than TCP' 'only proto=tcp is supported' fsreplay good.zst 'nfs://127.0.0.1/x?proto=udp'
refused 'an unknown security flavor' 'sec=spkm3: expected sys, krb5, krb5i or krb5p' fsreplay good.zst 'nfs4://127.0.0.1/x?sec=spkm3'
refused 'an unknown transport security' 'xprtsec=ssl: expected none, tls or mtls' fsreplay good.zst 'nfs4://127.0.0.1/x?xprtsec=ssl'
refused 'a principal without Kerberos' 'principal=: belongs to sec=krb5' fsreplay good.zst 'nfs4://127.0.0.1/x?principal=me'
refused 'two versions' 'version= and vers= contradict' fsreplay good.zst 'nfs://127.0.0.1/x?version=3&vers=4.1'
refused 'an unknown option of a directory' "unknown option 'direct=2'" fsreplay good.zst file:t?direct=2
refused 'an unknown option of a directory, with slashes' "unknown option 'x=1'" fsreplay good.zst "file://$PWD/t?x=1"
refused 'something after null:' 'without anything after the colon' fsreplay good.zst null:x
refused 'an IPv6 address without brackets' 'stands in brackets' fsreplay good.zst nfs://::1/x
refused 'a server that is not there' 'refused' fsreplay good.zst 'nfs://127.0.0.1:9/export?version=3&nfsport=9&mountport=9'
refused 'a target below a file' 'Not a directory' fsreplay good.zst text/below
refused 'a target whose parent is missing' 'No such file' fsreplay good.zst no/such/place
mkdir full
echo precious >full/file
refused 'a target that is not empty' 'not empty' fsreplay good.zst full
refused 'a target that is not empty, with --reuse' 'not empty' fsreplay good.zst full --reuse
refused '--cleanup of a target that is not ours' 'not empty' fsreplay good.zst full --cleanup
check 'what was in the target is still there' grep -q precious full/file
refused 'what was captured' 'this trace captured' fsreplay good.zst share
mkdir void
fsshim capture void -o void.zst -- sh -c 'echo 1 >void/f; rm void/f' 2>capture.err
for url in void file:void 'void?direct=1' 'file:void?past-cache=1'; do
  refused "what was captured and is empty, as $url" 'this trace captured' fsreplay void.zst "$url"
done
mkdir readonly
mount -t tmpfs -o size=1m none readonly && mount -o remount,ro readonly
refused 'a read-only target' 'Read-only' fsreplay good.zst readonly
umount readonly
refused 'results over a foreign file' 'results database' fsreplay good.zst t --results text
check_status 'a dry run' 0 'would issue' fsreplay good.zst t --dry-run
check_status 'a dry run says what the run reads and writes' 0 '^run +reads .* and writes [1-9]' fsreplay good.zst t --dry-run
check 'none of these made the target' test ! -e t
check_status 'a target in need of --force takes it' 0 '' fsreplay good.zst full --force --timing asap -q
check 'what was in the target is still there after --force' grep -q precious full/file

# What is mounted inside the target is not the target's. A bind mount has the device number of what it stands on.
mkdir beyond
echo precious >beyond/file
check_status 'a target to mount into' 0 '' fsreplay good.zst mounted --timing asap -q
mkdir mounted/foreign
(cd mounted && find . | sort) >mounted.list
behind_mount() {  # NAME SOURCE POINT
  mount --bind "$2" "mounted/$3"
  for option in --reuse '--reuse --cleanup' '--force --cleanup'; do
    refused "$1, $option" "mounted: $3: a file system is mounted there" fsreplay good.zst mounted $option --timing asap -q
  done
  umount "mounted/$3"
  check "$1: nothing was removed" sh -c '(cd mounted && find . | sort) | diff - mounted.list && grep -q precious beyond/file'
}
behind_mount 'a directory of the trace is a mount' beyond d1
behind_mount 'a directory of nobody is a mount' beyond foreign
behind_mount 'a file of the trace is a mount' beyond/file f1.2
mount --bind beyond mounted/d1
check_status 'a mount in the way of the run, --force' 1 'outcomes differed' fsreplay good.zst mounted --force --timing asap -q
umount mounted/d1
check 'nothing was made behind it' test "$(ls beyond)" = file
cat >mount_late.sh <<'END'
until [ -e late/d1 ]; do sleep 0.05; done
mount --bind beyond late/d1
END
sh mount_late.sh &
check_status 'a mount that comes during the run: --cleanup removes nothing' 1 'late: d1: a file system is mounted there' \
  fsreplay good.zst late --cleanup -q
wait $!
check 'nor behind it' grep -q precious beyond/file
umount late/d1

# Traces that are damaged are replayed as far as they go.
head -c $(($(stat -c %s good.zst) * 2 / 3)) good.zst >cut.zst
check_status 'a trace that was cut' 1 'incomplete trace' fsreplay cut.zst cut --timing asap
head -c 40 good.zst >stump.zst
refused 'a trace cut in its header' 'stump.zst' fsreplay stump.zst t
damaged=0
for share_of_file in 30 50 70; do
  cp good.zst flipped.zst
  printf '\xff\x00\xff\x00' | dd of=flipped.zst bs=1 seek=$(($(stat -c %s good.zst) * share_of_file / 100)) conv=notrunc status=none
  status=0
  fsreplay flipped.zst "flipped$share_of_file" --timing asap -q >stdout 2>stderr || status=$?
  case $status in 1 | 2) ;; *) damaged=$((damaged + 1)) ;; esac
done
check 'flipped bytes are noticed' test $damaged = 0

# A trace that means harm.
mkdir -p outside/directory
echo canary >outside/canary
cp -a outside before
stat -c '%n %f %u %s %Y' outside outside/canary >before.stat
"$integration/hostile_trace" hostile.zst "$scratch/outside"
for url in nfs://127.0.0.1/captured nfs4://127.0.0.1:2049/captured; do
  refused "what was captured, as $url" 'this trace captured' fsreplay hostile.zst $url
done
unharmed() {
  check "$1: nothing outside the target has changed" sh -c "diff -r outside before && stat -c '%n %f %u %s %Y' outside outside/canary | diff - before.stat &&
    [ ! -e escaped ] && [ ! -e /tmp/escaped ] && [ ! -e '$scratch/canary' ]"
}
for order in strict resource; do
  check_status "a hostile trace, order $order" 1 '' timeout 100 fsreplay hostile.zst "hostile-$order" --order $order --timing asap -q
  unharmed "a hostile trace, order $order"
  check "no device and no set-id bit came of it, order $order" sh -c "[ -d hostile-$order ] && [ -z \"\$(find hostile-$order -type b -o -type c -o -perm /6000)\" ]"
done
check_status 'a hostile trace, privileged' 1 '' timeout 100 fsreplay hostile.zst hostile-privileged --privileged --timing asap -q
unharmed 'a hostile trace, privileged'
check_status 'a hostile trace in memory' 1 '' timeout 100 fsreplay hostile.zst memory: --timing asap -q
unharmed 'a hostile trace in memory'
check_status 'a hostile trace onto nothing' 1 'impossible' timeout 100 fsreplay hostile.zst null: --timing asap
for command in 'report -o report.html' stat dump; do
  check_status "a hostile trace, fstrace $command" 1 'operations with impossible (times|lengths|ids|names)' timeout 60 fstrace $command hostile.zst
done
check_status 'a hostile trace, fstrace compare' 1 '' timeout 60 fstrace compare hostile.zst hostile.zst
"$integration/hostile_trace" --large >large.zst
# Not a limit of the address space, which sanitizers need for themselves.
cat >below.py <<'END'
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:], check=False).returncode
sys.exit(status or resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >= int(sys.argv[1]))
END
check_status 'data made up for large writes in flight take less than 1 GiB of memory' 0 '' \
  python3 below.py $((1 << 20)) timeout 100 fsreplay large.zst null: --timing asap -q
