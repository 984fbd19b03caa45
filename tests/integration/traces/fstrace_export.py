#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests exports of a trace to the formats of other tools. fio makes exactly the requests of an exported iolog. If a format can be
imported, an export and an import return the same trace. Other formats hold every operation."""
import csv
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built, fstrace_program, shim_program  # noqa: E402

WORK = ("cd {0}; dd if=/dev/urandom of=a bs=10000 count=20 conv=fsync; mkdir d; dd if=a of=b bs=3000; cat b; mv b d; ls -l d; "
        "echo x >>a; rm a")


def run(*command, cwd=None):
    done = subprocess.run(command, capture_output=True, check=False, cwd=cwd, timeout=100)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def operations(trace):
    return [json.loads(line) for line in run(fstrace_program(), "dump", "--json", trace)[1].splitlines()]


def transfers(ops, command=None):
    """Reads and writes that moved something, and syncs: kind, file, offset, bytes."""
    return [(o["kind"], o["path"], o.get("offset", 0), o.get("result", 0)) for o in ops
            if (o["kind"] == "fsync" or (o["kind"] in ("read", "write") and o.get("result"))) and command in (None, o["command"])]


def fio(cases, place, trace):
    log, tree = f"{place}/fio.log", f"{place}/tree"
    status, _, said = run(fstrace_program(), "export", trace, "--format", "fio-iolog", "-o", log)
    cases.case("fio: what an iolog can't say is told", status == 1 and re.search(r"fio-iolog: .* create", said), said)
    os.mkdir(tree)
    for name in ("a", "b"):
        shutil.copy(f"{place}/tree-before/{name}", f"{tree}/{name}")
    status, said, error = run("strace", "-f", "-ttt", "-T", "-y", "-o", f"{place}/fio.strace", "fio", "--name=x", f"--read_iolog={log}",
                              "--ioengine=psync", "--replay_no_stall=1", "--output-format=json", cwd=tree)
    if not cases.case("fio runs the exported iolog", status == 0, error):
        return
    run(fstrace_program(), "import", f"{place}/fio.strace", "--directory", tree, "-o", f"{place}/fio.zst")
    # fio keeps the name under which a file was first used.
    wanted = [(k, "b" if p == "d/b" else p, o, n) for k, p, o, n in transfers(operations(trace))]
    got = [t for t in transfers(operations(f"{place}/fio.zst")) if t[1] in ("a", "b")]
    cases.case(f"fio makes the same {len(wanted)} requests: file, offset, bytes", len(wanted) > 100 and
               sorted(wanted) == sorted(got) and [w for w in wanted if w[1] == "b"] == [g for g in got if g[1] == "b"],
               f"{len(got)} made; {[x for x in wanted if x not in got][:5]} {[x for x in got if x not in wanted][:5]}")
    job = json.loads(said)["jobs"][0]
    for kind in ("read", "write"):
        moved = sum(n for k, _, _, n in wanted if k == kind)
        cases.case(f"fio counts the same bytes: {kind}", job[kind]["io_bytes"] == moved, str(job[kind]))


def fio_job(cases, place):
    """Two of three requests are small writes, the others large reads."""
    top, trace, job, tree = (f"{place}/{name}" for name in ("mixed", "mixed.zst", "shape.fio", "shape"))
    os.mkdir(top)
    run(shim_program(), "capture", top, "-o", trace, "--", "sh", "-c",
        f"cd {top}; dd if=/dev/zero of=a bs=4096 count=2000; mkdir d; dd if=a of=/dev/null bs=8192; sleep 0.5")
    status, _, said = run(fstrace_program(), "export", trace, "--format", "fio-job", "-o", job)
    cases.case("fio-job: what is lost is told", status == 1 and re.search(r"fio-job: .* mkdir", said), said)
    os.mkdir(tree)
    status, said, error = run("fio", "--output-format=json", job, cwd=tree)
    if not cases.case("fio runs the job", status == 0, error + said[:300]):
        return
    moved = [t for t in transfers(operations(trace)) if t[0] != "fsync"]
    done = json.loads(said[said.index("{"):])["jobs"][0]
    reads, writes = (done[kind]["total_ios"] for kind in ("read", "write"))
    share = sum(t[0] == "read" for t in moved) / len(moved)
    cases.case("it makes as many requests", abs(reads + writes - len(moved)) <= len(moved) / 20, f"{reads} + {writes}, not {len(moved)}")
    cases.case("in the same shares", abs(reads / (reads + writes) - share) < 0.04, f"{reads} of {reads + writes}, not {share:.3f}")
    for kind, count in (("read", reads), ("write", writes)):
        mean = sum(t[3] for t in moved if t[0] == kind) / sum(t[0] == kind for t in moved)
        cases.case(f"of the same mean size: {kind}", 0.9 < done[kind]["io_bytes"] / count / mean < 1.1, f"{done[kind]['io_bytes'] / count}, not {mean}")


def vdbench(cases, place):
    """The same trace, as a parameter file that fsbench vdbench takes and performs."""
    trace, file = f"{place}/mixed.zst", f"{place}/shape.vdb"
    status, _, said = run(fstrace_program(), "export", trace, "--format", "vdbench", "-o", file)
    cases.case("vdbench: what is lost is told", status == 1 and re.search(r"vdbench: .* mkdir", said), said)
    program = (built("tools/fsbench"), "vdbench", "-f", file, "-o", f"{place}/vdbench.out", f"anchor={place}")
    status, said, error = run(*program, "-s")
    cases.case("vdbench: the file is understood", status == 0 and "Simulating RD=rd1" in said, error + said)
    status, said, error = run(*program, "-e", "4")
    if not cases.case("vdbench: it runs", status == 0, error + said[-300:]):
        return
    average = [line for line in said.splitlines() if " avg_" in line][-1].split(" avg_")[1].split()
    rate, reads, writes = (float(average[i]) for i in (1, 6, 8))
    done = [o["kind"] for o in operations(trace) if not o.get("error") and (o["kind"] not in ("read", "write") or o["result"])]
    counted = [k for k in done if k in ("read", "write", "getattr", "statx", "setattr", "access", "open")]
    for kind, now in (("read", reads), ("write", writes)):
        share = counted.count(kind) / len(counted)
        cases.case(f"vdbench: the share of {kind}s", abs(now / rate - share) < 0.03, f"{now} of {rate}, not {share:.3f}")


def again(cases, place, trace, top):
    """Exported, and imported again."""
    status, _, said = run(fstrace_program(), "export", trace, "--format", "strace", "-o", f"{place}/again.log")
    cases.case("strace: every operation has a call", status == 0, said)
    run(fstrace_program(), "import", f"{place}/again.log", "--directory", top, "-o", f"{place}/again.zst")
    wanted, got = operations(trace), operations(f"{place}/again.zst")
    cases.case("strace: imported again, the same transfers", transfers(wanted) == transfers(got), f"{len(got)} operations")
    status, said, error = run(built("replay/fsreplay"), f"{place}/again.zst", f"{place}/again.tree", "--order", "strict", "--timing",
                              "asap", "-q", "--json")
    report = json.loads(said)
    cases.case("strace: imported again, it replays as recorded", report["matched"] == report["issued"] > 100,
               error + str(report["mismatches"]))
    run(fstrace_program(), "export", trace, "--format", "blkparse", "-o", f"{place}/blk.txt")
    run(fstrace_program(), "import", f"{place}/blk.txt", "-o", f"{place}/blk.zst")
    blocks = [o for o in operations(f"{place}/blk.zst") if o["kind"] in ("read", "write", "fsync")]
    cases.case("blkparse: imported again, the same requests in sectors",
               [(k, o // 512 * 512, -(-(o + n) // 512) * 512 - o // 512 * 512) for k, _, o, n in transfers(wanted)] ==
               [(o["kind"], o.get("offset", 0), o.get("result", 0)) for o in blocks], f"{len(blocks)}")


# A file that is removed and made again, and arguments of many kinds.
LOG = """100 1700000000.001000 openat(AT_FDCWD, "/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000010>
100 1700000000.002000 pwrite64(3, ""..., 4096, 0) = 4096 <0.000010>
100 1700000000.003000 close(3) = 0 <0.000010>
100 1700000000.004000 unlink("/d/f") = 0 <0.000010>
100 1700000000.005000 openat(AT_FDCWD, "/d/f", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000010>
100 1700000000.006000 pwrite64(3, ""..., 8192, 0) = 8192 <0.000010>
100 1700000000.007000 close(3) = 0 <0.000010>
100 1700000000.008000 truncate("/d/f", 12345) = 0 <0.000010>
100 1700000000.009000 fchmodat(AT_FDCWD, "/d/f", 0640) = 0 <0.000010>
100 1700000000.010000 openat(AT_FDCWD, "/d/f", O_RDONLY) = 3</d/f> <0.000010>
100 1700000000.011000 openat(AT_FDCWD, "/d/c", O_RDWR) = 4</d/c> <0.000010>
100 1700000000.012000 copy_file_range(3</d/f>, [0], 4</d/c>, [777216], 4096, 0) = 4096 <0.000010>
100 1700000000.013000 setxattr("/d/f", "user.foo", "bar", 3, 0) = 0 <0.000010>
100 1700000000.014000 symlink("target-of-link", "/d/l") = 0 <0.000010>
"""


def imported(place):
    with open(f"{place}/log", "w", encoding="ascii") as log:
        log.write(LOG)
    run(fstrace_program(), "import", f"{place}/log", "--directory", "/d", "--force", "-o", f"{place}/imported.zst")
    return f"{place}/imported.zst"


def one_name_in_turn(cases, place):
    tree = f"{place}/turns"
    run(fstrace_program(), "export", imported(place), "--format", "fio-iolog", "-o", f"{tree}.log")
    os.mkdir(tree)
    with open(f"{tree}/f", "wb") as file:
        file.write(bytes(8192))
    status, said, error = run("fio", "--name=x", f"--read_iolog={tree}.log", "--ioengine=psync", "--output-format=json", cwd=tree)
    written = json.loads(said)["jobs"][0]["write"]["io_bytes"] if status == 0 else 0
    cases.case("fio runs an iolog of files that have one name in turn", written == 4096 + 8192, f"{status}, {written}: {error[-300:]}")


def arguments(cases, place):
    status, said, error = run(fstrace_program(), "export", imported(place), "--format", "csv", "-o", "-")
    rows = {row["op"] + row.get("set_size", ""): row for row in csv.DictReader(said.splitlines())}
    copy = rows["copy_file_range"]
    cases.case("csv has the arguments of each kind", status == 0 and "setattr12345" in rows and rows["setattr"].get("set_mode") == str(0o640) and
               (copy["path2"], copy.get("offset2")) == ("c", "777216") and copy["handle2"] != "0" and
               rows["symlink"]["data"] == "target-of-link" and rows["setxattr"]["name"] == "user.foo", f"{error} {said}")


def tables(cases, place, trace):
    ops = operations(trace)
    for name in ("csv", "jsonl", "chrome", "dbench"):
        status, _, said = run(fstrace_program(), "export", trace, "--format", name, "-o", f"{place}/out.{name}")
        cases.case(f"{name} is written", status in (0, 1), said)
    with open(f"{place}/out.csv", encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    cases.case("csv: a row for each operation", [(r["op"], int(r["offset"])) for r in rows] == [(o["kind"], o.get("offset", 0)) for o in ops])
    with open(f"{place}/out.jsonl", encoding="utf-8") as text:
        cases.case("jsonl: as dump prints them", [json.loads(line) for line in text] == ops)
    with open(f"{place}/out.chrome", encoding="utf-8") as text:
        events = [e for e in json.load(text)["traceEvents"] if e["ph"] == "X"]
    cases.case("chrome: an event for each operation", [e["name"] for e in events] == [o["kind"] for o in ops] and
               all(abs(e["ts"] * 1000 - o["start"]) < 1 for e, o in zip(events, ops)))
    line = re.compile(r'0\.000 (Deltree|MKDIR3) "/clients(/client1)?" \*\n|\d+\.\d{6} [A-Z]+3( "/clients/client1[^" ]*")?( "/clients/client1[^" ]*")?( \d+ \d+( 0)?)? (0x[0-9a-f]{8}|\*)\n')
    with open(f"{place}/out.dbench", encoding="utf-8") as text:
        lines = text.readlines()
    cases.case("dbench: every line is one of its load files", len(lines) > 100 and all(line.fullmatch(x) for x in lines),
               str([x for x in lines if not line.fullmatch(x)][:3]))


def main():
    cases = Cases()
    with Scratch() as scratch:
        place, top, trace = scratch.path, f"{scratch.path}/top", f"{scratch.path}/x.zst"
        os.mkdir(top)
        run(shim_program(), "capture", top, "-o", trace, "--", "sh", "-c", WORK.format(top))
        # What fio finds: both files, as long as they ever were.
        os.mkdir(f"{place}/tree-before")
        for name in ("a", "b"):
            with open(f"{place}/tree-before/{name}", "wb") as file:
                file.write(os.urandom(200002))
        fio(cases, place, trace)
        one_name_in_turn(cases, place)
        fio_job(cases, place)
        vdbench(cases, place)
        again(cases, place, trace, top)
        tables(cases, place, trace)
        arguments(cases, place)
        status, said, error = run(fstrace_program(), "export", trace, "--format", "csv", "--op", "write", "-o", "-")
        cases.case("a selection, to standard output", status == 0 and said.count(",write,") == said.count("\n") - 1 > 50, error)
        status, _, error = run(fstrace_program(), "export", trace, "--format", "fio-iolog", "--op", "rename", "-o", f"{place}/none")
        cases.case("nothing that the format could say", status == 2 and not os.path.exists(f"{place}/none"), error)
        with open(f"{place}/kept", "w", encoding="ascii") as old:
            old.write("old")
        no_leaks = f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"  # LeakSanitizer can't work under ptrace
        status, _, error = run("env", no_leaks, "strace", "-o", "/dev/null", "-e", "inject=fsync:error=EDQUOT", fstrace_program(), "export", trace, "--format",
                               "csv", "-o", f"{place}/kept", "--force")
        with open(f"{place}/kept", encoding="ascii") as old:
            cases.case("a file stays if its successor can't be stored", status == 2 and "quota" in error and old.read() == "old", f"{status}: {error}")
        status, _, error = run(fstrace_program(), "export", trace, "--format", "nonsense", "-o", f"{place}/none")
        cases.case("an unknown format", status == 2 and "expected one of" in error, error)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
