#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fstrace sql: the tables say what fstrace dump says, bounds on time read only that part of the file, exports and the loadable
extension give the same answers, and wrong queries are one line."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from fstrace_cases import BUILD, FSTRACE, SOURCE, case, dumped, failed, make_trace  # noqa: E402


def sql(trace, query, *options):
    done = subprocess.run([FSTRACE, "sql", "--json", trace, query, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{query}: {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_row(o):
    """What a row of ops should be for an operation as dump shows it."""
    unfinished = o.get("unfinished", False)
    good = not unfinished and "error" not in o
    data = o["kind"] in ("read", "write", "copy_file_range")
    return {"seq": o["seq"], "start": o["start"], "duration": None if unfinished else o["duration"], "op": o["kind"],
            "error": o.get("error"), "unfinished": int(unfinished), "client": o.get("client"), "pid": o.get("pid"),
            "tid": o.get("tid"), "command": o.get("command"), "uid": o["uid"], "gid": o["gid"], "object": o.get("object", 0),
            "handle": o.get("handle", 0), "path": o.get("path", ""), "length": o.get("length", 0),
            "result": o.get("result", 0) if good else None, "bytes": o.get("result", 0) if good and data else 0,
            "mode": o.get("mode", 0), "flags": o.get("flags", 0), "open_flags": o.get("open_flags", 0),
            "kernel": o.get("op_flags", 0) & 1}


def first_difference(trace, ops):
    rows = sql(trace, "select * from ops")
    if len(rows) != len(ops):
        return f"{len(rows)} rows, not {len(ops)}"
    for o, row in zip(ops, rows):
        want = as_row(o)
        got = {name: row[name] for name in want}
        if got != want:
            return f"{got} instead of {want}"
    return ""


def bytes_read(trace, query, log):
    """Of the trace, by one query: what pread returned."""
    subprocess.run(["strace", "-f", "-e", "trace=pread64", "-o", log, FSTRACE, "sql", trace, query], stdout=subprocess.DEVNULL,
                   check=True)
    with open(log, encoding="utf-8", errors="replace") as lines:
        return sum(int(m.group(1)) for m in (re.search(r"pread64\(.*\) = (\d+)$", line.rstrip()) for line in lines) if m)


def bounds(trace, ops):
    """Each condition is also asked with + in front of its columns, which keeps SQLite from handing it down."""
    middle, object_id = ops[len(ops) // 2], next(o["object"] for o in reversed(ops) if o.get("object"))
    for condition in (f"start >= {middle['start']}", f"start < {middle['start']}", f"start between {ops[3]['start']} and {middle['start']}",
                      f"start = {middle['start']}", f"start > {middle['start']}.5", f"seq = {middle['seq']}", f"seq > {middle['seq']}",
                      "seq <= 3", "seq < -1", "op = 'write'", "op = 'nonsense'", "op = 'read' and uid = 0", f"object = {object_id}",
                      f"pid = {middle.get('pid', 0)} and op = 'lookup'", "handle = 1", "start > null", "op in ('read', 'write')",
                      "path like '%f%' and seq > 20", "op = 7", "start >= 'abc'", "op = 'WRITE' collate nocase",
                      "op = 'write ' collate rtrim", "op collate nocase in ('READ', 'Write')"):
        plain = re.sub(r"\b(start|seq|op|uid|object|pid|handle)\b", r"+\1", condition)
        quick = sql(trace, f"select seq, path from ops where {condition} order by seq")
        slow = sql(trace, f"select seq, path from ops where {plain} order by +seq")
        if quick != slow or ("collate" in condition and not quick):
            return f"{condition}: {len(quick)} rows, not {len(slow)}"
    return ""


def main():
    golden = os.path.join(SOURCE, "tests/data/golden-v1.zst")
    library = os.path.join(BUILD, "capture-formats/libfstrace")
    with tempfile.TemporaryDirectory(prefix="fsshim-test.") as top:
        day = os.path.join(top, "day.zst")
        make_trace(day, "--ops", "864000", "--rate", "10/s", "--files", "500")
        made = os.path.join(top, "made's.zst")
        make_trace(made, "--ops", "3000", "--files", "50")
        for name, trace in (("golden", golden), ("made", made)):
            ops = dumped(trace)
            case(f"{name}: ops are what dump shows", first_difference(trace, ops))
            case(f"{name}: bounds change nothing but what is read", bounds(trace, ops))
            joined = sql(trace, "select a.seq from ops a join ops b on b.seq = a.seq + 1 where a.op = 'open' order by 1")
            case(f"{name}: a join", "" if [r["seq"] for r in joined] == [o["seq"] for o in ops[:-1] if o["kind"] == "open"] else joined)

        size = os.path.getsize(day)
        query = "select count(*) from ops where start >= 43200000000000 and start < 43260000000000"
        used = bytes_read(day, query, os.path.join(top, "log"))
        case("one minute of a day reads less than 5 % of the file", "" if used * 20 < size else f"{used} of {size} bytes")
        case("and finds all of it", "" if sql(day, query) == [{"count(*)": 600}] else sql(day, query))
        whole = bytes_read(day, "select count(*) from ops", os.path.join(top, "log"))
        case("all of the day reads most of the file", "" if whole > 0.8 * size else f"{whole} of {size} bytes")
        blocks = bytes_read(day, "select sum(operations) from blocks", os.path.join(top, "log"))
        case("blocks are told from the index", "" if blocks * 10 < size and
             sql(day, "select sum(operations) n from blocks") == [{"n": 864000}] else f"{blocks} of {size} bytes")

        sums = {}
        for o in dumped(made):
            s = sums.setdefault(o.get("object", 0), [0, 0])
            s[0] += 1
            s[1] += o.get("result", 0) if o["kind"] == "read" else 0
        files = {r["object"]: [r["operations"], r["read_bytes"]] for r in sql(made, "select * from files")}
        case("files", "" if files == {k: v for k, v in sums.items() if k} else "sums differ from dump's")
        threads = sql(made, "select pid, operations from processes order by pid")
        case("processes", "" if len(threads) == 16 and sum(t["operations"] for t in threads) == 3000 else threads)
        opens = sql(made, "select count(*) n, sum(reads) r from opens where closed > opened")[0]
        reads = sql(made, "select count(*) n from ops where op = 'read'")[0]["n"]
        case("opens", "" if opens["n"] > 100 and 0 < opens["r"] <= reads else opens)
        names = sql(golden, "select path from names where path like '%moved%'")
        case("names are those at the end", "" if names == [{"path": "moved \n"}] else names)

        plain = os.path.join(top, "plain.sqlite")
        subprocess.run([FSTRACE, "sql", "--export", plain, made], check=True)
        query = "select op, count(*), sum(bytes), max(path) from ops group by op order by op"
        with sqlite3.connect(plain) as db:
            exported = [list(row) for row in db.execute(query)]
        case("an exported database answers alike", "" if exported == [list(r.values()) for r in sql(made, query)] else exported)
        again = subprocess.run([FSTRACE, "sql", "--export", plain, made], capture_output=True, text=True, check=False)
        case("an export replaces nothing", "" if again.returncode == 2 and "exists already" in again.stderr else again.stderr)
        quoted = made.replace("'", "''")
        shell = subprocess.run(["sqlite3", "-json", ":memory:", "-cmd", f".load {library}"], capture_output=True, text=True, check=False,
                               input=f"create virtual table temp.ops using fstrace(ops, '{quoted}'); {query};")
        same = shell.returncode == 0 and [list(r.values()) for r in json.loads(shell.stdout)] == exported
        case("the loadable extension answers alike", "" if same else shell.stderr + shell.stdout[:200])

        with open(made, "rb") as trace:
            piped = subprocess.run([FSTRACE, "sql", "-", "select count(*) from ops, processes", "--csv"], stdin=trace, check=False,
                                   capture_output=True, text=True)
        case("a trace from standard input, --csv", "" if piped.stdout == "count(*)\n48000\n" else piped.stdout + piped.stderr)
        for arguments, words in ((["selec"], "sql: near"), (["select * from nowhere"], "no such table"), ([], "expected a query")):
            wrong = subprocess.run([FSTRACE, "sql", made, *arguments], capture_output=True, text=True, check=False)
            case(f"refused: {' '.join(arguments) or 'no query'}", "" if wrong.returncode == 2 and words in wrong.stderr and
                 wrong.stderr.count("\n") == 1 and not wrong.stdout else f"{wrong.returncode}: {wrong.stderr}")
        torn = os.path.join(top, "torn.zst")
        with open(made, "rb") as whole, open(torn, "wb") as part:
            part.write(whole.read()[:-200])
        damaged = subprocess.run([FSTRACE, "sql", torn, "select count(*) n from ops"], capture_output=True, text=True, check=False)
        case("damage is told, and what can be read is answered", "" if damaged.returncode == 1 and
             damaged.stderr.count("closing statement missing") == 1 and damaged.stdout.startswith("n\n") else damaged)
        missing = subprocess.run([FSTRACE, "sql", os.path.join(top, "none"), "select 1"], capture_output=True, text=True, check=False)
        case("no such trace", "" if missing.returncode == 2 and "No such file" in missing.stderr else missing.stderr)
    sys.exit(1 if failed else 0)


main()
