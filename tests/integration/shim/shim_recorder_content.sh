#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Content as fingerprints: recorded, kept small, and replayed as data that is alike.
. "$(dirname "$0")/../harness/common.sh"

mkdir d
cat >work.py <<'END'
import os, random
random.seed(7)
noise = random.randbytes(64 * 4096)
text = b"".join(b"record %d of a log that says little\n" % (i % 50) for i in range(30000))[:64 * 4096]
with open("d/noise", "wb") as f: f.write(noise)
with open("d/copy", "wb") as f: f.write(noise)          # duplicates of all its blocks
with open("d/text", "wb") as f: f.write(text * 8)
with open("d/zeros", "wb") as f: f.write(bytes(64 * 4096))
with open("d/odd", "wb") as f:
    for i in range(100): f.write(noise[i * 100:i * 100 + 100]); f.flush()
for name in "noise copy text zeros odd before".split():
    with open("d/" + name, "rb") as f:
        while f.read(128 * 1024): pass
END
head -c 200000 /dev/urandom >d/before
check "capture with fingerprints" fsshim capture d -o prints.zst --content fingerprint -- python3 work.py
check "the trace verifies" fstrace verify prints.zst
check_status "its header says so" 0 "content fingerprint" fstrace info prints.zst
check "the content itself is not in it" eval '! zstdcat prints.zst | grep -aq "record 7 of a log"'
check "it stays small beside the data" test "$(stat -c %s prints.zst)" -lt 60000
fstrace dump --json prints.zst >prints.json
check "zeros, duplicates and compressibility are in it" python3 - <<'END'
import json, os
writes = {}
for line in open("prints.json"):
    op = json.loads(line)
    if op["kind"] == "write" and "blocks" in op: writes.setdefault(os.path.basename(op["path"]), []).extend(op["blocks"])
assert all(b["level"] == 0 for b in writes["zeros"]) and len(writes["zeros"]) == 64, writes["zeros"][:3]
assert [b["hash"] for b in writes["noise"]] == [b["hash"] for b in writes["copy"]] and len(writes["copy"]) == 64
assert all(b["level"] == 8 for b in writes["noise"][-32:]), [b["level"] for b in writes["noise"]]
low = sum(b["level"] <= 3 for b in writes["text"])
assert low > 0.9 * len(writes["text"]) and len(writes["text"]) >= 512, low
END
check "the replay reads what it should" fsreplay --timing asap prints.zst out --json -q
fsreplay -q --timing asap prints.zst again >report.txt
check "and says what it compared" eval 'grep -Eq "^content +[0-9,]+ blocks read [(][0-9.]+ MiB[)] were compared, [0-9,]+ could not be" report.txt'
check "whole blocks are compared, those written in parts are not" python3 - <<'END'
import re
a, b = (int(n.replace(",", "")) for n in re.search(r"content +([\d,]+) blocks .*, ([\d,]+) could", open("report.txt").read()).groups())
# Requests that begin or end within a page cut a block in two: some of the large write.
assert a >= 64 * 3 + 512 + 40 and 1 <= b <= 12, (a, b)
END
size() { zstd -qc -3 "$1" | wc -c; }
check "noise stays noise" test "$(size out/noise)" -gt 230000
check "text stays compressible" test "$(size out/text)" -lt $((2097152 / 2))
check "duplicates stay duplicates" cmp out/noise out/copy
check "zeros stay zeros" cmp out/zeros d/zeros
check "what was there before is made alike" test "$(stat -c %s out/before)" = 200000 -a "$(size out/before)" -gt 150000
# A target that gives back another block than was written.
cat >swap.py <<'END'
import os, sys
fd = os.open("d/pair", os.O_CREAT | os.O_RDWR)
random = open("/dev/urandom", "rb")
os.pwrite(fd, random.read(4096), 0); os.pwrite(fd, random.read(4096), 4096)
os.close(fd)
END
fsshim capture d -o pair.zst --content fingerprint -- sh -c 'python3 swap.py; cat d/pair >/dev/null' 2>/dev/null
check "a trace of its own reads replays" fsreplay -q --timing asap pair.zst pair
fsshim capture d -o swap.zst --content fingerprint -- sh -c 'cat d/pair >/dev/null; sleep 2.5; cat d/pair >/dev/null' 2>/dev/null
fsreplay -q swap.zst swapped >swap.txt &
replay=$!
own_process $replay
for i in $(seq 200); do [ "$(stat -c %s swapped/pair 2>/dev/null)" = 8192 ] && break; sleep 0.01; done
sleep 0.7
python3 -c "
f = open('swapped/pair', 'r+b'); data = f.read(); f.seek(0); f.write(data[4096:] + data[:4096])"
replayed=0
wait $replay || replayed=$?
check "another block than the expected one is a difference" eval 'test $replayed = 1 && grep -q "other content" swap.txt'
