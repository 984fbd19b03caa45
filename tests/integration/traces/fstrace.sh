#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fstrace on whole, cut, damaged and foreign files: what it prints and how it ends.
. "$(dirname "$0")/../harness/common.sh"

golden=$FSR_SOURCE/tests/data/golden-v1.zst
size=$(stat -c %s "$golden")

check "zstd -t accepts a trace" zstd -tq "$golden"
check_status "info tells what and who" 0 '^command +make -j2$' fstrace info "$golden"
check_status "info tells how complete" 0 '^complete +yes: command ended; 0 dropped' fstrace info "$golden"
check_status "verify finds a whole trace complete" 0 ': 46 operations .* 1 unfinished: complete$' fstrace verify "$golden"
check_status "dump shows names escaped" 0 ' rename dir/hard -> moved \\x0a .* = 0$' fstrace dump "$golden"
check_status "dump shows both names of a link" 0 ' link dir/file -> dir/hard ' fstrace dump "$golden"
check_status "dump shows errors by name" 0 ' rmdir dir = ENOTEMPTY$' fstrace dump "$golden"

# One JSON object per line, as many as there are operations, times rising, bytes that are not UTF-8 kept.
cat > lines.py <<'END'
import json, sys
ops = [json.loads(line) for line in sys.stdin]
assert len(ops) == 46, len(ops)
assert [o["seq"] for o in ops] == list(range(46))
link = next(o for o in ops if o["kind"] == "symlink")
assert link["data"] == "../\uf7ff target", link
assert any(o.get("unfinished") for o in ops)
END
check "dump --json is JSON lines" bash -c "fstrace dump --json '$golden' | python3 lines.py"
for sub in info verify; do
  check "$sub --json is JSON" bash -c "fstrace $sub --json '$golden' | python3 -m json.tool"
done

count() { fstrace dump "$@" | wc -l; }
[ "$(count --op write "$golden")" = 3 ] && ok "--op selects a kind" || not_ok "--op selects a kind" "$(count --op write "$golden")"
early=$(count --to 100us "$golden") late=$(count --from 100us "$golden")
[ $((early + late)) = 46 ] && [ "$early" = 10 ] && ok "--from and --to part the trace" ||
  not_ok "--from and --to part the trace" "$early and $late operations"
check_status "a range behind the end is told" 2 'no operations in that range; the trace begins at .* and ends at' fstrace dump --from 10h "$golden"
check_status "an unknown subcommand" 2 'frobnicate: no such subcommand; expected one of info, dump,' fstrace frobnicate
check_status "one misspelt" 2 'repot: no such subcommand; did you mean report' fstrace repot
fstrace mix "$golden" >a.mix 2>/dev/null
check_status "a mixfile is told from a trace" 2 'a.mix: a mixfile, not a trace .to run it: fsreplay FILE TARGET' fstrace info a.mix
check_status "paths learned before --from are known" 0 ' unlink dir/file ' fstrace dump --from 300us "$golden"

check_status "a trace through a pipe" 0 'complete$' bash -c "cat '$golden' | fstrace verify -"
mkfifo pipe
cat "$golden" > pipe &
check_status "a trace through a named pipe" 0 'complete$' fstrace verify pipe
wait
(for _ in {1..50}; do fstrace dump --json "$golden"; done) 2> errors | head -n 1 > /dev/null
[ ! -s errors ] && ok "a reader that goes away is no error to talk about" ||
  not_ok "a reader that goes away is no error to talk about" "$(head -n 1 errors)"

head -c $((size - 30)) "$golden" > cut.zst
check_status "verify says that a trace was cut" 1 'truncated: closing statement missing' fstrace verify cut.zst
check_status "info says that a trace was cut" 1 '^complete +NO: the closing statement is missing' fstrace info cut.zst
# 0xff in the middle of a block: names the block and the time.
cp "$golden" flipped.zst
printf '\377\377\377\377' | dd of=flipped.zst bs=1 seek=1800 conv=notrunc status=none
check_status "verify names the damaged block and its time" 1 'block [0-9]+: .*operations that started between .* are affected' \
  fstrace verify flipped.zst
[ "$(fstrace dump flipped.zst 2>/dev/null | wc -l)" -ge 25 ] && ok "what is not damaged is dumped" ||
  not_ok "what is not damaged is dumped" "$(fstrace dump flipped.zst 2>&1 | tail -n 1)"

# The mixfile of a trace: counts of its operations, in both layouts and as JSON.
check_status "mix prints what nfsstat prints" 0 '^Server nfs v3:' fstrace mix "$golden"
check_status "mix --layout sunos" 0 '^Server nfs:' fstrace mix --layout sunos "$golden"
check_status "mix --nfs-version 4" 0 '^Server nfs v4 operations:' fstrace mix --nfs-version 4 "$golden"
check_status "mix says what has no procedure" 0 '^fstrace: [0-9]+ of 46 operations have no procedure in NFSv3' fstrace mix "$golden"
cat > mix.py <<'END'
import json, sys
kinds, none, linux = (json.load(open(name)) for name in sys.argv[1:])
kinds = kinds["by_kind"]
assert none["operations"] == linux["operations"] == 46, none
for procedure, kind in (("write", "write"), ("lookup", "lookup"), ("rename", "rename"), ("remove", "unlink")):
    assert none["procedures"][procedure] == kinds[kind], procedure
assert none["calls"] + none["without_procedure"] == 46
assert linux["procedures"]["write"] <= none["procedures"]["write"]
assert linux["procedures"]["access"] > 0
END
fstrace info --json "$golden" > info.json
fstrace mix --json "$golden" > none.json
fstrace mix --json --client-model linux --rsize 64k --wsize 64k --acregmin 0 "$golden" > linux.json
check "mix counts the operations" python3 mix.py info.json none.json linux.json
check_status "mix: sunos has one version" 2 "^fstrace: --layout sunos: only for NFSv2" fstrace mix --layout sunos --nfs-version 3 "$golden"
check_status "mix: mount options need the model" 2 '^fstrace: mount options .* require --client-model linux' fstrace mix --rsize 64k "$golden"
check_status "mix: a size that is none" 2 '^fstrace: .*--wsize 1' fstrace mix --client-model linux --wsize 1 "$golden"

echo text > text
check_status "no trace" 2 '^fstrace: text: not a trace' fstrace info text
check_status "no file" 2 '^fstrace: nothing.zst: No such file' fstrace dump nothing.zst
check_status "a directory" 2 '^fstrace: .*: is a directory' fstrace verify .
check_status "an unknown option" 2 '^fstrace: .*--frobnicate' fstrace verify --frobnicate "$golden"
check_status "no subcommand" 2 '^fstrace: ' fstrace
check_status "an unknown kind" 2 'no such kind of operation' fstrace dump --op frobnicate "$golden"
check_status "a time that is none" 2 '^fstrace: ' fstrace dump --from soon "$golden"
check_status "--version" 0 '^fstrace [0-9]' fstrace --version
check_status "--version of a subcommand" 0 '^fstrace [0-9]' fstrace dump --version
