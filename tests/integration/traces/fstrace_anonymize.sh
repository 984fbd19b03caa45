#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Traces under pseudonyms: they replay with the outcomes of the original, nothing of it is left in them, the check finds what is,
# they are hardly larger, and the key is the way back.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/report_checks.sh"
apps=$FSR_SOURCE/tests/apps

cat > same_outcomes.py <<'P'
import json, sys
def outcomes(name):
    kinds = json.load(open(name))["kinds"]
    rows = kinds.items() if isinstance(kinds, dict) else ((k.get("kind", k.get("op")), k) for k in kinds)
    return {kind: {m: k[m] for m in ("issued", "ok", "matched", "differed", "bytes") if m in k} for kind, k in rows}
first, second = map(outcomes, sys.argv[1:])
sys.exit(first != second or not first)
P
cat > same_shape.py <<'P'
import os, sys
def shape(top):
    rows = []
    for folder, folders, files in os.walk(top):
        sizes = [os.lstat(os.path.join(folder, f)).st_size for f in files
                 if f != ".fsreplay" and not os.path.islink(os.path.join(folder, f))]
        rows.append((folder.count("/"), len(folders), sorted(sizes)))
    return sorted(rows)
assert shape(sys.argv[1]) == shape(sys.argv[2])
P

head -c 32 /dev/urandom > key
head -c 32 /dev/urandom > other_key
"$apps/make-input" input || exit 1
for app in git sqlite; do
  mkdir $app
  fsshim capture $app -o $app.zst -- sh -c "cd $app && $apps/run $app $scratch/input" 2>/dev/null || exit 1
  check "$app: anonymized" fstrace anonymize --key key $app.zst -o $app.public.zst
  check "$app: verifies" fstrace verify $app.public.zst
  check_status "$app: nothing of the original is in it" 0 'contains none of [0-9,]+ names' fstrace anonymize --check $app.zst $app.public.zst
  fstrace convert $app.zst -o $app.same.zst >/dev/null  # in blocks of the same length
  size=$(stat -c %s $app.same.zst) public=$(stat -c %s $app.public.zst)
  [ $((public * 100)) -le $((size * 110)) ] && ok "$app: larger by 10 % at most ($size, $public)" ||
    not_ok "$app: larger by 10 % at most" "$size, then $public bytes"
  for trace in $app.zst $app.public.zst; do
    fsreplay $trace $trace.tree --timing asap --order strict -q --json > $trace.json 2> $trace.err
  done
  check_report "$app: replays as recorded" $app.public.zst.json 'r["matched"] == r["issued"] == r["operations"]'
  check "$app: the same outcomes by kind" python3 same_outcomes.py $app.zst.json $app.public.zst.json
  check "$app: the tree has the same shape" python3 same_shape.py $app.zst.tree $app.public.zst.tree
  check "$app: the way back" fstrace anonymize --key key --reverse $app.public.zst -o $app.back.zst
  cmp -s <(fstrace dump --json $app.zst) <(fstrace dump --json $app.back.zst) && ok "$app: every operation is back" ||
    not_ok "$app: every operation is back" "$(diff <(fstrace dump $app.zst) <(fstrace dump $app.back.zst) | head -n 4)"
done
check "compared with the original, all but the names is the same" fstrace compare git.zst git.public.zst --tolerance 0,names=1
check_status "the check finds names where nothing was renamed" 1 'is in a name$' fstrace anonymize --check git.zst git.zst

# Planted: in a name, a command, a link, an attribute, file content, the capture's own command line.
marker=planted-marker-7391
mkdir planted
cp "$(command -v cat)" planted-command
cat > plant.sh <<S
cd planted; mkdir $marker-dir; echo $marker-content-in-the-file > $marker-dir/$marker.txt
ln -s /elsewhere/$marker-target link; setfattr -n user.$marker -v $marker-value $marker-dir
$scratch/planted-command $marker-dir/$marker.txt; ls -R; getfattr -d $marker-dir; readlink link
setfacl -m u:4711:r $marker-dir; chown 4711:4712 $marker-dir/$marker.txt
i=0; while [ \$i -lt 40 ]; do echo "a quite ordinary line of text" >> text.log; i=\$((i + 1)); done; cat text.log
cp text.log copy.log; cat copy.log
S
fsshim capture planted -o planted.zst --content full -- sh plant.sh $marker-argument >/dev/null 2>&1 || exit 1
check_status "what was planted is in the original" 1 "$marker.* is in the decompressed bytes" \
  fstrace anonymize --check planted.zst planted.zst --marker $marker
check "planted: anonymized" fstrace anonymize --key key planted.zst -o given.zst
check "planted: none of it is left" fstrace anonymize --check planted.zst given.zst --marker $marker \
  --marker 'a quite ordinary line'
left=$( (zstdcat given.zst; cat given.zst; fstrace info given.zst; fstrace dump --json given.zst) |
  grep -ac "marker-7391\|planted\|ordinary\|$(basename "$scratch")")
[ "$left" = 0 ] && ok "planted: grep finds none either" ||
  not_ok "planted: grep finds none either" "$left lines"
fsreplay given.zst planted.tree --timing asap --order strict -q --json > planted.json 2> planted.err
check_report "planted: replays as recorded, with fingerprints in place of content" planted.json 'r["matched"] == r["issued"]'
cat > prints.py <<'P'
import json, subprocess
ops = [json.loads(line) for line in subprocess.check_output(["fstrace", "dump", "--json", "given.zst"]).splitlines()]
prints = [json.dumps(o["blocks"]) for o in ops if o.get("blocks")]
assert prints and len(set(prints)) < len(prints), prints
assert not any("data" in o for o in ops if o["kind"] in ("read", "write"))
owners = [o["set"] for o in ops if o["kind"] == "setattr" and o.get("set", {}).get("uid")]
assert owners and "4711" not in json.dumps(owners), owners
P
check "equal blocks have equal prints, owners are others" python3 prints.py
mkdir one two
fsshim capture one -o one.zst -- touch one/survivor-name 2>/dev/null
fsshim capture two -o two.zst -- touch two/survivor-name 2>/dev/null
check_status "a name that survives is found" 1 'survivor-name is in a name' fstrace anonymize --check one.zst two.zst

# An attribute outside the kernel's namespaces: nothing of its name is the system's.
echo '1 1.000000 getxattr("/w/f", "acmecorpsecretproject.token", NULL, 0) = -1 EOPNOTSUPP (Operation not supported)' > log
fstrace import log --directory /w -o log.zst >/dev/null
fstrace anonymize --key key log.zst -o log.public.zst >/dev/null
check_status "an attribute's name is looked for from its first letter" 1 'acmecorpsecretproject.token is in a name' \
  fstrace anonymize --check log.zst log.zst
check "and is not left" fstrace anonymize --check log.zst log.public.zst --marker acmecorpsecretproject

# The owner of a POSIX lock is its process, in imported traces by number.
n=0
for call in 'openat(AT_FDCWD, "/w/f", O_RDWR) = 3' 'fcntl(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=1}) = 0' \
  'read(3, "x", 1) = 1' 'close(3) = 0'; do
  echo "47110815 1.00000$((n++)) $call"
done > locks.log
fstrace import locks.log --directory /w -o locks.zst >/dev/null
fstrace cut --from 2us locks.zst -o later.zst >/dev/null
for trace in locks later; do
  fstrace anonymize --key key $trace.zst -o $trace.public.zst >/dev/null
  check "$trace: no number of a process is left" fstrace anonymize --check $trace.zst $trace.public.zst
  fstrace dump --json $trace.public.zst | grep -q 'owner":471108' && not_ok "$trace: nor in a lock" || ok "$trace: nor in a lock"
  fstrace anonymize --key key --reverse $trace.public.zst -o $trace.back.zst >/dev/null
  cmp -s <(fstrace dump --json $trace.zst) <(fstrace dump --json $trace.back.zst) && ok "$trace: owners come back" ||
    not_ok "$trace: owners come back"
done

check_status "another key is no way back" 2 'anonymized with another key' fstrace anonymize --key other_key --reverse git.public.zst -o none.zst
check_status "what was not anonymized has no way back" 2 'was not written by' fstrace anonymize --key key --reverse git.zst -o none.zst
check_status "once is enough" 2 'is anonymized already' fstrace anonymize --key key git.public.zst -o none.zst
check_status "no key" 2 'expected --key' fstrace anonymize git.zst -o none.zst
check_status "no such key" 2 'nokey: No such file.*urandom' fstrace anonymize --key nokey git.zst -o none.zst
echo short > short_key
check_status "a short key" 2 'at least 16 bytes' fstrace anonymize --key short_key git.zst -o none.zst
check_status "a short marker" 2 'at least 12 bytes' fstrace anonymize --check git.zst git.public.zst --marker short
check_status "a marker without --check" 2 'requires --check' fstrace anonymize --key key git.zst -o none.zst --marker long-enough-text
check_status "no trace" 2 'short_key' fstrace anonymize --key key short_key -o none.zst
[ -e none.zst ] && not_ok "nothing was written then" "none.zst is there" || ok "nothing was written then"
# A trace that begins with what was known: its checkpoint has names too.
half=$(fstrace dump --json git.zst | python3 -c 'import json, sys; s = [json.loads(l)["start"] for l in sys.stdin]; print(s[len(s) // 2])')
fstrace cut --from "${half}ns" git.zst -o half.zst >/dev/null
check "a trace with a checkpoint" fstrace anonymize --key key half.zst -o half.public.zst
check "nothing is left in the checkpoint either" fstrace anonymize --check half.zst half.public.zst
fsreplay half.public.zst half.tree --timing asap --order strict -q --json > half.json 2> half.err
check_report "it replays as recorded" half.json 'r["matched"] == r["issued"]'
