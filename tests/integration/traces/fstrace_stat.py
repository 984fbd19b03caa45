#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fstrace stat says the same as a plain count over what fstrace dump prints, whatever the grouping, selection and form."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from fstrace_cases import FSTRACE, SOURCE, case, dumped, failed, make_trace  # noqa: E402


def run(*arguments, status=0):
    done = subprocess.run([FSTRACE, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise RuntimeError(f"fstrace {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def who(*names):
    """Operations of a thread that was never described have neither number nor name."""
    return lambda o: tuple((name, o.get(name, "" if name == "command" else 0)) for name in names)


KEYS = {
    "op": lambda o: (("op", o.get("kind")),),
    "process": who("client", "pid", "command"),
    "command": who("command"),
    "thread": who("client", "pid", "tid", "command"),
    "user": who("uid"),
    "outcome": lambda o: (("outcome", "unfinished" if o.get("unfinished") else o.get("error", "ok")),),
}


def count(ops, by, interval=0):
    """What stat should say, from the operations themselves."""
    groups, position = {}, {}
    for o in ops:
        key = (o["start"] // interval * interval,) if interval else ()
        for dimension in by:
            key += KEYS[dimension](o)
        g = groups.setdefault(key, {"operations": 0, "failed": 0, "unfinished": 0, "reads": 0, "writes": 0, "read_bytes": 0,
                                    "written_bytes": 0, "successive": 0, "sequential": 0, "latency": [], "size": []})
        g["operations"] += 1
        if o.get("unfinished"):
            g["unfinished"] += 1
            continue
        g["failed"] += "error" in o
        g["latency"].append(o["duration"])
        kind, handle = o["kind"], o.get("handle", 0)
        if kind in ("read", "write", "copy_file_range"):
            what, moved = ("reads", "read_bytes") if kind == "read" else ("writes", "written_bytes")
            g[what] += 1
            g[moved] += o.get("result", 0)
            g["size"].append(o.get("length", 0))
            if kind != "copy_file_range":
                through = handle or ("file", o["object"])
                if through in position:
                    g["successive"] += 1
                    g["sequential"] += position[through] == o["offset"]
                position[through] = o["offset"] + o.get("result", 0)
        elif kind == "release":
            position.pop(handle, None)
    return groups


def near(values, share, told):
    """The value that a share of all does not exceed, as exact as the buckets are."""
    if not values:
        return told == 0
    exact = sorted(values)[max(0, -(-int(share * 1000 * len(values)) // 1000) - 1)]
    return exact / 1.02 - 1 <= told <= exact * 1.02 + 1


def differences(expected, told, by, interval):
    if len(expected) != len(told):
        return f"{len(told)} groups, not {len(expected)}"
    for g in told:
        key = (int(g["start"]),) if interval else ()
        for dimension in by:
            key += tuple((name, g[name]) for name, _ in KEYS[dimension]({}))
        want = expected.get(key)
        if want is None:
            return f"a group {key} that is none"
        for name, value in want.items():
            if isinstance(value, int) and int(g[name]) != value:
                return f"{key}: {name} {g[name]}, not {value}"
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            if not near(want["latency"], share, int(g[f"latency_{name}_ns"])):
                return f"{key}: latency {name} {g[f'latency_{name}_ns']}"
        if want["latency"] and int(g["latency_max_ns"]) != max(want["latency"]):
            return f"{key}: longest {g['latency_max_ns']}, not {max(want['latency'])}"
        if want["size"] and (int(g["size_max"]) != max(want["size"]) or not near(want["size"], 0.5, int(g["size_p50"]))):
            return f"{key}: sizes {g['size_p50']}, {g['size_max']}"
    return ""


def compare(name, trace, ops, by, interval=0, options=()):
    arguments = ["stat", "--by", ",".join(by), *options, trace]
    if interval:
        arguments += ["--interval", f"{interval}ns"]
    told = json.loads(run(*arguments, "--json"))
    why = differences(count(ops, by, interval), told["groups"], by, interval)
    total = count(ops, [])
    if not why and ops:
        why = differences(total, [told["total"]], [], 0) and f"total: {told['total']}"
    case(f"{name}: --json by {','.join(by)}", why)

    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv"))))
    for row in rows:
        row["start"] = row.get("start_ns")
        for number in ("client", "pid", "tid", "uid"):
            if number in row:
                row[number] = int(row[number])
    case(f"{name}: --csv by {','.join(by)}", differences(count(ops, by, interval), rows, by, interval))


def memory(top):
    """Many files, each with short and long operations and other sizes."""
    log, trace = os.path.join(top, "many.log"), os.path.join(top, "many.zst")
    with open(log, "w", encoding="ascii") as out:
        for i in range(40_000):
            out.write(f'100 {1e9 + i:.6f} openat(AT_FDCWD, "/f{i}", O_RDWR) = 3 <0.000001>\n'
                      f'100 {1e9 + i + .1:.6f} pwrite64(3, "", 1000000, 0) = 1 <0.500000>\n'
                      f'100 {1e9 + i + .7:.6f} pwrite64(3, "", 1, 0) = 1 <0.000100>\n'
                      f'100 {1e9 + i + .8:.6f} close(3) = 0 <0.000030>\n')
    subprocess.run([FSTRACE, "import", log, "-o", trace], capture_output=True, check=False)
    for command in (["stat", "--by", "file", "--top", "5"], ["top", "--once"], ["report", "-o", os.path.join(top, "many.html")]):
        with open(os.devnull, "w", encoding="ascii") as null:
            child = subprocess.Popen([FSTRACE, *command, trace], stdout=null, stderr=null)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        case(f"{command[0]}: a file takes little memory", "" if child.returncode == 0 and usage.ru_maxrss < 300_000 else
             f"status {child.returncode}, {usage.ru_maxrss} KiB")


def piped(arguments, trace):
    with open(trace, "rb") as source, subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE) as pipe:
        done = subprocess.run([FSTRACE, *arguments, "-"], stdin=pipe.stdout, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def late_ends(top):
    """An operation that ends only after more than 64 MiB of others."""
    log, trace, twice = (os.path.join(top, name) for name in ("long.log", "long.zst", "twice.zst"))
    with open(log, "w", encoding="ascii") as out:
        out.write(f'100 {1e9:.6f} openat(AT_FDCWD, "/f", O_RDWR) = 3 <0.000001>\n'
                  f'101 {1e9 + .5:.6f} fsync(4</g>) = 0 <9000.250000>\n')
        for i in range(400_000):
            out.write(f'100 {1e9 + 1 + i / 100:.6f} pread64(3, "", 100, 0) = 100 <0.000100>\n')
        out.write(f'100 {1e9 + 9002:.6f} close(3) = 0 <0.000030>\n')
    subprocess.run([FSTRACE, "import", log, "-o", trace], capture_output=True, check=False)
    for options in ([], ["--by", "outcome"], ["--op", "fsync"], ["--by", "file", "--process", "101"]):
        status, out, err = piped(["stat", "--csv", *options], trace)
        case(f"a late end, by a pipe, {' '.join(options)}", "" if (status, out) == (0, run("stat", "--csv", *options, trace)) else
             f"{status} {out} {err}")
    status, out, err = piped(["dump", "--json", "--op", "fsync"], trace)
    lines = [json.loads(line) for line in out.splitlines()]
    case("dump shows a late end", "" if status == 0 and [o.get("unfinished", False) for o in lines] == [True, False] and
         lines[0]["seq"] == lines[1]["seq"] and lines[1:] == dumped(trace, "--op", "fsync") else f"{status} {out} {err}")
    status, out, err = piped(["stat", "--csv", "--interval", "1m"], trace)
    case("an end after its table is told", "" if status == 1 and ": 1 operations ended after the table" in err else f"{status} {err}")
    with open(twice, "wb") as out, open(trace, "rb") as one:
        out.write(one.read() * 2)
    status, _, err = piped(["stat"], twice)
    case("what follows a trace in a pipe is damage", "" if status == 1 and "something follows the closing statement" in err else
         f"{status} {err}")


def main():
    golden = os.path.join(SOURCE, "tests/data/golden-v1.zst")
    with tempfile.TemporaryDirectory(prefix="fsshim-test.") as top:
        made = os.path.join(top, "made.zst")
        make_trace(made, "--ops", "20000", "--files", "300")
        for name, trace in (("golden", golden), ("made", made)):
            ops = dumped(trace)
            for by in (["op"], ["process", "op"], ["thread"], ["command", "outcome"], ["user"]):
                compare(name, trace, ops, by)
            compare(f"{name}, over time", trace, ops, ["op"], interval=100_000 if name == "golden" else 300_000_000)
        execs = os.path.join(top, "execs.zst")
        make_trace(execs, "--ops", "20000", "--execs", "7", "--threads", "3")
        compare("threads that become other programs", execs, dumped(execs), ["command"])
        for options, wanted in (
                (["--op", "read,write"], lambda o: o["kind"] in ("read", "write")),
                (["--process", "1003,1004"], lambda o: o["pid"] in (1003, 1004)),
                (["--process", "make_t*", "--uid", "root"], lambda o: True),
                (["--path", "d1/*"], lambda o: o.get("path", "").startswith("d1/")),
                (["--from", "500ms", "--to", "1s"], lambda o: 500_000_000 <= o["start"] < 1_000_000_000)):
            ops = [o for o in dumped(made) if wanted(o)]
            case(f"{' '.join(options)}: selects something", "" if ops else "nothing selected")
            if options[0] != "--from":  # what a file's position was before is not known then
                compare(" ".join(options), made, ops, ["op"], options=options)
            case(f"{' '.join(options)}: dump selects the same",
                 "" if dumped(made, *options) == ops else f"{len(dumped(made, *options))} operations, not {len(ops)}")
        told = json.loads(run("stat", "--from", "500ms", "--to", "1s", "--json", made))
        case("a stretch of time", "" if told["total"]["operations"] == 5000 else f"{told['total']['operations']} operations")
        files = json.loads(run("stat", "--by", "file", "--top", "5", "--sort", "bytes", "--json", made))
        moved = [g["read_bytes"] + g["written_bytes"] for g in files["groups"]]
        case("--by file --top --sort bytes", "" if len(moved) == 5 and moved == sorted(moved, reverse=True) and
             files["groups_left_out"] > 250 and files["groups"][0]["path"].startswith("d") else files["groups"])
        text = run("stat", made)
        case("text says how many operations", "" if "\n20,000 operations in 2.00 s" in text else text)
        late = os.path.join(top, "late.zst")
        make_trace(late, "--ops", "20000", "--files", "300", "--begin", "1h")
        told = json.loads(run("stat", "--json", late))
        case("a series without its oldest pieces begins where they end", "" if told["from"] == 3_600_000_000_000 else str(told["from"]))
        text = run("stat", late)
        case("text divides by the time that is there", "" if "\n20,000 operations in 2.00 s; 0.50 in flight" in text else text[-300:])
        for options, spans in ((["--interval", "800ms"], [800, 800, 400]), (["--interval", "1s", "--from", "500ms", "--to", "1600ms"], [500, 600]),
                               (["--interval", "1s", "--op", "read", "--from", "300ms"], [700, 1000])):
            told = [int(g.get("span", 0)) // 100_000 / 10 for g in json.loads(run("stat", "--json", "--by", "client", *options, made))["groups"]]
            case(f"{' '.join(options)}: the first and last interval are as long as what is seen of them",
                 "" if all(abs(a - b) <= 0.2 for a, b in zip(told, spans, strict=True)) else told)
            rates = [float(line.split()[2].replace(",", "")) for line in run("stat", "--by", "client", *options, made).splitlines() if
                     line.startswith("0 ")]
            case(f"{' '.join(options)}: and their rates are those of the whole", "" if max(rates) < 1.2 * min(rates) else rates)
        memory(top)
        late_ends(top)
        terminal = subprocess.run(["script", "-qec", f"{FSTRACE} stat {made} >{top}/out", "/dev/null"], capture_output=True, check=False)
        case("a bar on a terminal", "" if b"stat  [#" in terminal.stdout else terminal.stdout)
        quiet = subprocess.run([FSTRACE, "stat", made], capture_output=True, check=False)
        case("nothing on stderr elsewhere", quiet.stderr)
        for arguments, words in ((["--by", "colour"], "--by colour: expected some of op, process"), (["--interval", "0s"], "above 0"),
                                 (["--by", "op,op"], "given twice"), (["--from", "2s", "--to", "1s"], "--to must be later than --from"),
                                 (["--json", "--csv"], "--help"), (["--uid", "no-such-user"], "a user of this host")):
            wrong = subprocess.run([FSTRACE, "stat", *arguments, made], capture_output=True, text=True, check=False)
            case(f"refused: {' '.join(arguments)}", "" if wrong.returncode == 2 and words in wrong.stderr and
                 wrong.stderr.count("\n") == 1 and not wrong.stdout else f"{wrong.returncode}: {wrong.stderr}")
    sys.exit(1 if failed else 0)


main()
