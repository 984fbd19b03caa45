#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package fsrtrace: operations and columns are those that fstrace dump shows, selections are what Python would filter, damage
and errors are exceptions with the library's message, results are what is in the database, pip makes a wheel, and the notebook answers
its questions about a captured trace."""
import glob
import json
import os
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append("/usr/lib/python3/dist-packages")  # where Debian puts cffi and numpy, whatever python3 is first in PATH
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from fstrace_cases import BUILD, SOURCE, case, dumped, failed, make_trace  # noqa: E402
from lower_fs import Scratch, put_on_path, run  # noqa: E402

PACKAGE = f"{SOURCE}/capture-formats/python"
NOTEBOOK = f"{SOURCE}/docs/questions.ipynb"
os.environ["FSRTRACE_LIBRARY"] = f"{BUILD}/capture-formats/c-api/libfsrtrace.so"
sys.path.insert(0, PACKAGE)
import fsrtrace  # noqa: E402
import numpy as np  # noqa: E402

# Names before and after renames, names that are not UTF-8, links, failures, several processes.
WORK = r"""
mkdir -p a/b/c; for i in $(seq 40); do echo $i >a/b/c/$i; done
printf x >"$(printf 'caf\351')"; ln a/b/c/1 link; ln -s a soft
mv a/b new; cat new/c/* >/dev/null; mv new/c a/d; mv a/d/1 a/one; cat a/one >/dev/null
cat missing 2>/dev/null; (dd if=/dev/zero of=big bs=64k count=30; sync big) 2>/dev/null
for i in $(seq 300); do cat a/d/2 link >/dev/null; done
rm -r a/d; ls -l >/dev/null
"""


def capture(scratch, name, work=WORK):
    directory, trace = f"{scratch.path}/{name}", f"{scratch.path}/{name}.zst"
    os.mkdir(directory)
    run("fsshim", "capture", directory, "-o", trace, "--block-time", "20ms", "--", "sh", "-c", f"cd {directory}\n{work}")
    return trace


def raised(call, kind=fsrtrace.Error):
    """The message of what is raised; None: nothing is."""
    try:
        call()
    except kind as error:
        return str(error)
    return None


def says(name, call, *words, kind=fsrtrace.Error):
    message = raised(call, kind)
    good = message and "\n" not in message and all(word in message for word in words)
    case(name, "" if good else f"raised {message!r}, not {words}")


def as_operation(o):
    """What the package should make of an operation as dump shows it. Errors are compared by number elsewhere."""
    unfinished = o.get("unfinished", False)
    return {"number": o["seq"], "start_ns": o["start"], "duration_ns": o["duration"], "kind": o["kind"], "path": o.get("path", ""),
            "flags": (o.get("op_flags", 0) & 1) | 2 * unfinished, "object": o.get("object", 0), "handle": o.get("handle", 0),
            "length": o.get("length", 0), "uid": o["uid"], "gid": o["gid"], "pid": o.get("pid", 0), "tid": o.get("tid", 0),
            "command": o.get("command", ""), "client": o.get("client", 0), "mode": o.get("mode", 0), "open_flags": o.get("open_flags", 0)}


def as_in_json(text):
    """fstrace writes bytes that are not UTF-8 as U+F700 and more, os.fsdecode as U+DC00 and more."""
    return "".join(chr(ord(c) - 0xdc00 + 0xf700) if 0xdc80 <= ord(c) <= 0xdcff else c for c in text)


def first_difference(trace, ops):
    count = 0
    for op, o in zip(fsrtrace.open(trace), ops):
        count += 1
        got = op._asdict()
        want = as_operation(o)
        got["path"] = as_in_json(got["path"])
        if (op.error != 0) != ("error" in o) or any(got[name] != value for name, value in want.items()):
            return f"{got} instead of {want}"
        if "result" in o and op.result != o["result"]:
            return f"{op}: result {o['result']}"
    return "" if count == len(ops) else f"{count} operations, not {len(ops)}"


def operations(captured, merged):
    for name, trace in (("a capture", captured), ("a merged trace", merged)):
        case(f"operations of {name} are those of fstrace dump", first_difference(trace, dumped(trace)))
    trace = fsrtrace.open(captured)
    ops, columns = list(trace), trace.columns()
    case("a trace says how many operations it has", "" if trace.operations == len(ops) else f"{trace.operations}, not {len(ops)}")
    case("it knows directory and program",
         "" if trace.directory.endswith("/captured") and trace.program.startswith("fsshim") and not trace.dropped else repr(vars(trace)))
    wrong = [name for name in columns if columns[name].tolist() != [getattr(op, name) for op in ops]]
    case("columns hold the same as operations", ", ".join(wrong))
    small = [op for batch in trace.batches("number", rows=7) for op in batch["number"].tolist()]
    case("so do small batches", "" if small == [op.number for op in ops] else f"{len(small)} rows")
    paths = {op.path for op in ops}
    case("names that are not UTF-8 are those of os.fsdecode", "" if os.fsdecode(b"caf\xe9") in paths else repr(sorted(paths)[:20]))
    renames = [(op.path, op.path2) for op in ops if op.kind == "rename"]
    case("a rename has both names", "" if ("a/b", "new") in renames and ("new/c", "a/d") in renames else repr(renames))
    errors = {op.error for op in ops if op.path == "missing"}
    case("errors are numbers of errno", "" if errors == {2} else repr(errors))


def selections(trace):
    whole = fsrtrace.open(trace)
    ops = list(whole)
    middle, late = ops[len(ops) // 2].start_ns, ops[-len(ops) // 10].start_ns
    processes = sorted({op.pid for op in ops})
    for name, conditions, wanted in (
            ("kinds", {"kinds": ["read", "write"]}, lambda op: op.kind in ("read", "write")),
            ("a time on", {"from_ns": middle}, lambda op: op.start_ns >= middle),
            ("a range of time", {"from_ns": middle, "to_ns": late}, lambda op: middle <= op.start_ns < late),
            ("processes", {"pids": processes[1:3]}, lambda op: op.pid in processes[1:3]),
            ("threads", {"tids": [ops[3].tid]}, lambda op: op.tid == ops[3].tid),
            ("all of these", {"kinds": ["read"], "from_ns": middle, "pids": [ops[-5].pid]},
             lambda op: op.kind == "read" and op.start_ns >= middle and op.pid == ops[-5].pid),
            ("nothing", {"pids": [-7]}, lambda op: False)):
        chosen = whole.select(**conditions)
        want = [op for op in ops if wanted(op)]
        got = list(chosen)
        # A path whose file was removed before the range may not be known there.
        same = got == want or "from_ns" in conditions and [g._replace(path="") for g in got] == [w._replace(path="") for w in want]
        numbers = chosen.columns("number")["number"].tolist()
        case(f"selected by {name}", "" if same and numbers == [op.number for op in want] else f"{len(got)} of {len(want)}, {len(numbers)} numbers")
    twice = whole.select(kinds=["read", "write"]).select(kinds="read", from_ns=middle).select(from_ns=0)
    case("conditions add up", "" if list(twice.columns("number")["number"]) == [op.number for op in ops if op.kind == "read" and op.start_ns >= middle]
         else "others")
    case("conditions that exclude each other", "" if not list(whole.select(kinds="read").select(kinds="write")) else "some are left")


def parts(scratch, trace):
    cut = f"{scratch.path}/second.zst"
    run("fstrace", "cut", "--from", "20ms", trace, "-o", cut)
    case("the second part of a trace has names from before", first_difference(cut, dumped(cut)))
    with open(trace, "rb") as file:
        whole = file.read()
    broken = f"{scratch.path}/broken.zst"
    with open(broken, "wb") as file:
        file.write(whole[:len(whole) * 2 // 3])
    damaged = fsrtrace.open(broken)
    got = []
    says("a cut trace raises at its end", lambda: got.extend(damaged), broken, kind=fsrtrace.DamageError)
    case("its operations came before that", "" if len(got) == len(dumped_anyway(broken)) and got else f"{len(got)}")
    allowed = damaged.select(allow_damage=True)
    case("damage may be allowed", "" if allowed.columns("number").rows == len(got) and damaged.damage else repr(damaged.damage))


def dumped_anyway(trace):
    out = subprocess.run(["fstrace", "dump", "--json", trace], capture_output=True, text=True, check=False).stdout
    return out.splitlines()


def errors(scratch, trace):
    says("a file that does not exist", lambda: fsrtrace.open("/nowhere/x.zst"), "/nowhere/x.zst", "No such file")
    says("a file that is no trace", lambda: fsrtrace.open(__file__), __file__, "not a trace")
    says("a kind that does not exist", lambda: fsrtrace.open(trace).select(kinds=["rread"]), "'rread'", "did you mean read?")
    says("a time that is no whole number", lambda: fsrtrace.open(trace).select(from_ns="1s"), "from_ns='1s'", "whole number")
    far = fsrtrace.open(trace).select(from_ns=-2**70, to_ns=2**70, pids=[-1, 2**40])
    case("times and processes that can't be select nothing", "" if not list(far) else "operations")
    says("a column that does not exist", lambda: fsrtrace.open(trace).columns("byte_count"), "no such column: byte_count", "start_ns")
    missing = subprocess.run([sys.executable, "-c", "import sys; sys.path.append('/usr/lib/python3/dist-packages'); import fsrtrace; fsrtrace.kinds()"],
                             env={**os.environ, "PYTHONPATH": PACKAGE, "FSRTRACE_LIBRARY": "/nowhere/lib.so", "PYTHONDONTWRITEBYTECODE": "1"},
                             capture_output=True, text=True, check=False)
    case("a library that is not there is named, with its package",
         "" if "/nowhere/lib.so" in missing.stderr and "libfsrtrace0" in missing.stderr else missing.stderr[-300:])


def results(scratch, trace):
    database = f"{scratch.path}/runs.db"
    for _ in range(2):
        run("fsreplay", trace, "memory:", "--timing", "asap", "--results", database)
    found = fsrtrace.results(database)
    with sqlite3.connect(database) as plain:
        runs = plain.execute("select id, operations, achieved_per_s, target, label from run").fetchall()
        tables = {name for name, in plain.execute("select name from sqlite_master where type in ('table', 'view')")}
    table = found.table("run")
    got = list(zip(*(table[name].tolist() for name in ("id", "operations", "achieved_per_s", "target", "label"))))
    case("runs are those of the database", "" if got == runs and table.rows == 2 else f"{got}, not {runs}")
    case("as are the names of tables", "" if set(found.tables) == tables else repr(found.tables))
    kinds = found.query("select kind, issued from kinds where run = ? order by kind", 2)
    case("a query with a parameter", "" if kinds.rows > 3 and kinds["issued"].dtype == np.int64 else repr(kinds))
    says("a table that does not exist", lambda: found.table("runs"), database, "no such table: runs", "run, ")
    says("a wrong query", lambda: found.query("selekt 1"), database, "syntax error")
    says("a trace is no database", lambda: fsrtrace.results(trace), "not a results database")
    says("a database that does not exist", lambda: fsrtrace.results("/nowhere/runs.db"), "No such file")
    other = f"{scratch.path}/other.db"
    with sqlite3.connect(other) as plain:
        plain.execute("create table run(id int)")
    says("someone else's database", lambda: fsrtrace.results(other), other, "not a results database")


def frames(trace):
    """Of pandas and Arrow, as far as they are there; Debian 12 has no Arrow."""
    whole = fsrtrace.open(trace)
    ops = list(whole)
    frame = whole.to_pandas()
    wrong = [name for name in frame if frame[name].tolist() != [getattr(op, name) for op in ops]]
    case("a DataFrame holds the same", ", ".join(wrong))
    times = frame.groupby("kind", observed=True)["duration_ns"].sum()
    case("and can be grouped", "" if times["lookup"] == sum(op.duration_ns for op in ops if op.kind == "lookup") else str(times))
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return
    table = whole.to_arrow("kind", "path", "duration_ns")
    case("a table of Arrow holds the same", "" if table.column("kind").to_pylist() == [op.kind for op in ops] else str(table)[:300])


def wheel(scratch, trace):
    """By Debian's pip and setuptools, without a network."""
    made = subprocess.run(["/usr/bin/python3", "-m", "pip", "--disable-pip-version-check", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w",
                           f"{scratch.path}/wheels", f"{scratch.path}/python"], capture_output=True, text=True, check=False)
    wheels = glob.glob(f"{scratch.path}/wheels/fsrtrace-*-py3-none-any.whl")
    case("pip makes a wheel", "" if len(wheels) == 1 else (made.stdout + made.stderr)[-500:])
    if not wheels:
        return
    run("/usr/bin/python3", "-m", "pip", "install", "--no-index", "--no-deps", "--target", f"{scratch.path}/installed", *wheels)
    out = run("/usr/bin/python3", "-c", f"import fsrtrace; print(fsrtrace.__file__, fsrtrace.open({trace!r}).columns('kind').rows)",
              env={**os.environ, "PYTHONPATH": f"{scratch.path}/installed", "PYTHONDONTWRITEBYTECODE": "1"})
    case("and what it installs reads traces", "" if out.split() == [f"{scratch.path}/installed/fsrtrace/__init__.py", str(fsrtrace.open(trace).operations)]
         else out)


def notebook(scratch, trace):
    """Each cell runs, and what it prints agrees with fstrace."""
    out = f"{scratch.path}/answered.ipynb"
    done = subprocess.run(["/usr/bin/jupyter-nbconvert", "--to", "notebook", "--execute", "--output", out, NOTEBOOK], capture_output=True, text=True,
                          check=False, env={**os.environ, "TRACE": trace, "PYTHONPATH": PACKAGE, "HOME": scratch.path,
                                            "PYTHONDONTWRITEBYTECODE": "1", "JUPYTER_PLATFORM_DIRS": "1"}, timeout=240)
    if done.returncode:
        return case("the notebook's cells run", done.stderr[-600:])
    with open(out, encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    case("the notebook's cells run", "" if len(cells) >= 6 else f"{len(cells)} cells")
    printed = ["".join("".join(output.get("text", "")) for output in cell["outputs"]) for cell in cells]
    silent = [number for number, text in enumerate(printed) if not text.strip()]
    case("each answers", ", ".join(map(str, silent)))
    top = run("fstrace", "sql", "--csv", trace, "select op, count(*) from ops group by op order by sum(duration) desc limit 1").splitlines()[1]
    kind, count = top.split(",")
    first = next(line.split() for line in printed[1].splitlines() if line.startswith(kind.strip('"')))
    case("the kind that took most time is that of fstrace", "" if first[1].replace(",", "") == count.strip() else f"{first}, not {top}")
    with open(NOTEBOOK, encoding="utf-8") as file:
        kept = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    case("the kept notebook shows answers of the same cells",
         "" if all(cell["outputs"] for cell in kept) and len(kept) == len(cells) else "run it again and keep what it prints")


def main():
    put_on_path()
    with Scratch() as scratch:
        captured = capture(scratch, "captured")
        other = capture(scratch, "other", "echo x >f; cat f >/dev/null")
        merged = f"{scratch.path}/merged.zst"
        run("fstrace", "merge", captured, other, "-o", merged)
        large = f"{scratch.path}/large.zst"
        make_trace(large, "--ops", "100000", "--threads", "3")
        operations(captured, merged)
        case("operations of a trace of many blocks", first_difference(large, dumped(large)))
        selections(captured)
        selections(large)
        parts(scratch, captured)
        errors(scratch, captured)
        results(scratch, captured)
        frames(captured)
        run("cp", "-rL", PACKAGE, f"{scratch.path}/python")  # the build leaves files beside its source
        wheel(scratch, captured)
        notebook(scratch, captured)
    return 1 if failed else 0


sys.exit(main())
