#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench lantest on a real Netatalk: all twelve tests, their text and CSV, and that the printed numbers follow from each other; beside
afp_lantest, the same requests on the wire; failures in mid-test, passwords, sessions at once, ^C; and the same tests as operations
on every kind of server.

lantest.py --whole: compares the requests of all tests, which takes a minute."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, SERVERS, case, failed, on_servers, run, scratch, targets_of_server  # noqa: E402
sys.path.insert(0, SERVERS)
from wiretap import Wiretap  # noqa: E402

TAP_PORT = 15997
QUICK_TESTS, ALL_TESTS = "238:;", "123456789:;<"

RUN = re.compile(r"^Run (\d+) => (.*AFP ops\]) +(\d+) ms(?: for (\d+) MB \((?:avg\. (\d+) MB/s|time too small to measure)\))?$", re.M)
TESTS = ["Open, stat", "Writing", "Reading", "Locking", "Creating", "Enumerate", "Deleting", "Create directory", "Directory cache",
         "Mixed", "Deep", "Cache validation"]


def command(*options, port=None, volume="share"):
    env = os.environ
    return [FSBENCH, "lantest", "-h", env["AFP_HOST"], "-p", port or env["AFP_PORT"], "-u", env["AFP_USER"], "-s", volume, *options]


def lantest(*options, timeout=100, **place):
    return run(*command(*options, **place), timeout=timeout)


def rows(file, query):
    with contextlib.closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


def mean(values):
    """Over what is not 0, without the extremes where there are more than five."""
    values = list(values)
    if len(values) > 5:
        least, most = values.index(min(values)), values.index(max(values))
        values[least] = values[most] = 0
    values = [value for value in values if value]
    return sum(values) // len(values) if values else 0


def told(output):
    """{label: milliseconds of each iteration}, in order."""
    runs = {}
    for iteration, name, ms, _, _ in RUN.findall(output):
        runs.setdefault(name, []).append(int(ms))
        if len(runs[name]) != int(iteration):
            return {}
    return runs


def follows(name, done, rows, total):
    """Rows: (label, mean) as printed."""
    runs = told(done.stdout)
    case(f"{name}: ends well", done.returncode == 0 and not done.stderr, done.stdout + done.stderr)
    case(f"{name}: each test ran in each iteration, in order", [label.startswith(test) for label, test in zip(runs, TESTS)] == [True] * 12,
         done.stdout)
    case(f"{name}: the mean of the printed times is the printed mean", rows == [(label, mean(times)) for label, times in runs.items()],
         done.stdout)
    case(f"{name}: the sum is that of the means", total == sum(ms for _, ms in rows), done.stdout)
    case(f"{name}: the test directory is gone", re.search(r"^Successfully deleted test directory 'LanTest-\d+'$", done.stdout, re.M) and
         not [entry for entry in os.listdir(os.environ["AFP_DIR"]) if entry.startswith("LanTest")], done.stdout)


def layouts():
    done = lantest("--percent", "1", "-n", "6")
    table = re.findall(r"^(\S.*AFP ops\]) +(\d+) +\d+\.\d +\d+$", done.stdout, re.M)
    total = re.search(r"^Sum of all AFP OPs = 806 +(\d+) +$", done.stdout, re.M)
    follows("table", done, [(label, int(ms)) for label, ms in table], int(total[1]) if total else None)
    done = lantest("--percent", "1", "-n", "2", "-c", "--cleartext", "-4")
    rows = re.findall(r"^(\S.*AFP ops\]),(\d+),\d+\.\d,\d+$", done.stdout, re.M)
    total = re.search(r"^Sum of all AFP OPs = 806,(\d+),,$", done.stdout, re.M)
    follows("CSV", done, [(label, int(ms)) for label, ms in rows], int(total[1]) if total else None)


def original_that_counts():
    """Runs afp_lantest in a copy of its root that has /proc_io."""
    env, root = os.environ, os.path.abspath("root-with-proc")
    os.makedirs(root + "/proc_io")
    subprocess.run(["mount", "-t", "proc", "proc", root + "/proc_io"], check=True)
    for entry in os.scandir(env["AFP_ROOT"]):
        if entry.is_symlink():
            os.symlink(os.readlink(entry), f"{root}/{entry.name}")
        elif entry.is_dir() and entry.name != "proc_io":
            os.mkdir(f"{root}/{entry.name}")
            subprocess.run(["mount", "--rbind", entry.path, f"{root}/{entry.name}"], check=True)
    done = run("/usr/sbin/chroot", root, "/usr/bin/afp_lantest", "-h", env["AFP_HOST"], "-p", env["AFP_PORT"], "-u", env["AFP_USER"], "-w",
               env["AFP_PASSWORD"], "-s", "share", "-n", "1", "-f", ":", timeout=60)
    for mounted in os.scandir(root):
        if mounted.is_dir(follow_symlinks=False):
            subprocess.run(["umount", "--lazy", mounted.path], check=True)
    return done


def about_processes(done):
    """Lines about the counting of calls, without numbers and the name of the mount."""
    lines = re.sub(r"\d+|/proc\S*", "N", done.stdout + done.stderr).splitlines()
    ends = [i for i, line in enumerate(lines) if line.startswith("IO monitoring")]
    return lines[ends[0]:ends[-1] + 1] if ends else lines


def more_than_text():
    """The server's user must be known here, too."""
    with open("/etc/passwd", encoding="utf-8") as known:
        accounts = known.read() + f"{os.environ['AFP_USER']}:x:{os.stat(os.environ['AFP_DIR']).st_uid}:65534::/:/bin/sh\n"
    with open("passwd", "w", encoding="utf-8") as added:
        added.write(accounts)
    done = lantest("-f", "1", "--proc", "/proc")
    case("a user who is not known here: a line, and a run", done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr)
    subprocess.run(["mount", "--bind", "passwd", "/etc/passwd"], check=True)
    done = lantest("-f", "4", "-n", "1", "--percent", "10", "--proc", "/proc", "-c", "--results", "afp.sqlite", "-w", os.environ["AFP_PASSWORD"])
    server = re.search(r"^Found privilege-dropped afpd process for user 'tester': PID (\d+)$", done.stdout, re.M)
    line = re.search(r"^ {9}IO Operations; afpd: (\d+) READs, (\d+) WRITEs \| cnid_dbd: 0 READs, 0 WRITEs$", done.stdout, re.M)
    row = re.search(r"^Locking.*ops\],\d+,0.0,(\d+),0.0,(\d+),0.0,0,0.0,0,0.0,0$", done.stdout, re.M)
    case("calls of the server are counted, one write for each of 2000 commands", server and line and row and line.groups() == row.groups() and
         2000 <= int(line[2]) < 2100, done.stdout + done.stderr)
    subprocess.run(["umount", "/etc/passwd"], check=True)
    theirs, ours = about_processes(original_that_counts()), about_processes(done)
    case("lines about the processes as the original's", len(ours) == 5 and ours == theirs, (ours, theirs, done.stderr))
    (kept,) = rows("afp.sqlite", "select input, command, afpd_reads, afpd_writes, client_cpu_ns > 0, server_cpu_ns > 0, name, count from run join tests on tests.run = id "
                   "join distributions d on d.run = id and what = 'test 4' and kind = 'FPByteRangeLock'")
    case("the database has calls and CPU of the server, and no password", line and kept[0] == "lantest, 10 %" and os.environ["AFP_PASSWORD"] not in kept[1] and
         kept[2:] == (int(line[1]), int(line[2]), 1, 1, "Locking/Unlocking 10000 times each", 2000), kept)
    done = lantest("-f", "14", "-n", "2", "--percent", "1", "--json")
    report = json.loads(done.stdout) if done.returncode == 0 else {"rows": []}
    counts = [{command: times["count"] for command, times in row["commands"].items()} for row in report["rows"]]
    case("JSON has the commands of both iterations", counts == [
        {"FPCloseFork": 20, "FPGetFileDirParms": 60, "FPGetForkParms": 40, "FPOpenFork": 20, "FPRead": 20}, {"FPByteRangeLock": 320}], done.stdout)
    case("JSON's rates are those of its seconds",
         report["rows"] and all(abs(row["rate"] * sum(row["seconds"]) - 2) < 1e-6 for row in report["rows"]), done.stdout)


def choices():
    done = lantest("--percent", "10", "-n", "2", "-f", "6")
    case("files of test 5 are no trouble to the next iteration", done.returncode == 0 and len(told(done.stdout)) == 2, done.stdout + done.stderr)
    url = f"{os.environ['AFP_URL']}?version=3.1"
    done = run(FSBENCH, "lantest", "--percent", "5", "-n", "1", "-f", ":", url)
    case("a URL says where; letters beyond 9", done.returncode == 0 and "Run 1 => Mixed" in done.stdout, done.stdout + done.stderr)


DSI_COMMAND, DSI_WRITE = 2, 6
OF_DIRECTORIES = {6, 7, 8, 9, 26, 34}
OF_FORKS = {1, 4, 14, 27, 33, 60, 61}


def commands(requests):
    """Commands between login and logout, with payloads cut off. Directories and forks have numbers in the order of their first use, and
    names hold no process's number."""
    directories, alike, begun = {}, [], False
    logout = 20
    for request in requests:
        kind, offset, length = struct.unpack_from(">xB2xII", request)
        body = request[16:16 + (offset if kind == DSI_WRITE else length)]
        if kind not in (DSI_COMMAND, DSI_WRITE) or not body:
            continue
        number = body[0]
        begun = begun or b"LanTest-" in body
        if not begun or number == logout:
            continue
        if number in OF_DIRECTORIES:
            did = directories.setdefault(body[4:8], len(directories))
            body = body[:4] + struct.pack(">I", did) + body[8:]
        elif number in OF_FORKS:
            body = body[:2] + body[4:]
        without_id = re.sub(rb"..LanTest-[0-9]+", b"LanTest-N", body, flags=re.S)
        alike.append((kind, without_id, length if without_id == body else 0))
    return alike


def recorded(*program):
    tap = Wiretap(int(os.environ["AFP_PORT"]), TAP_PORT)
    done = run(*program, timeout=250)
    tap.close()
    case(f"{program[0]} ends well on the wire", done.returncode == 0, done.stdout + done.stderr)
    return commands(tap.requests)


def on_the_wire(tests):
    env = os.environ
    options = ["-h", "127.0.0.1", "-p", str(TAP_PORT), "-u", env["AFP_USER"], "-w", env["AFP_PASSWORD"], "-s", "share", "-n", "1", "-f", tests]
    theirs = recorded("/usr/sbin/chroot", env["AFP_ROOT"], "/usr/bin/afp_lantest", *options)
    ours = recorded(FSBENCH, "lantest", *options)
    differs = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
    case(f"tests {tests}: {len(theirs)} requests as afp_lantest's", theirs == ours and theirs,
         f"number {differs}: {theirs[differs:differs + 3]} {ours[differs:differs + 3]}")
    # As the original's were counted, test by test: what is timed and what is not.
    numbers = [body[0] for _, body, _ in ours]
    counted = {"2": numbers.count(61), "3": numbers.count(60), "4": numbers.count(1), "8": numbers.count(6) - 1 - (10 if "9" in tests else 0)}
    expected = {"2": 100, "3": 100, "4": 20000, "8": 1110 + (20 if ";" in tests else 0)}
    chosen = [test for test in counted if test in tests]
    case("writes, reads, locks and directories are as many as in the reference",
         all(counted[test] == expected[test] for test in chosen), counted)


def nothing_left():
    return not [entry for entry in os.listdir(os.environ["AFP_DIR"]) if entry.startswith("LanTest")]


def failures():
    line = "fsbench lantest: iteration 1, test 3: FPGetFileDirParms of 'no such': kFPObjectNotFound (-5018)\n"
    for options, status in (([], 1), (["--compat"], 3)):
        done = lantest("-f", "13", "-F", "no such", "--percent", "1", *options)
        case(f"a file that is missing in mid-run: status {status} and a line", (done.returncode, done.stderr) == (status, line),
             (done.returncode, done.stderr))
        case("the test directory is removed, and there are no results", nothing_left() and "Results" not in done.stdout, done.stdout)
    with open(os.path.join(os.environ["AFP_DIR"], "small"), "wb") as small:
        small.write(bytes(5000))
    done = lantest("-f", "3", "-F", "small", "--compat")
    case("a file that is too small", done.returncode == 4 and done.stderr.endswith("FPReadExt of 'small': kFPEOFErr (-5009)\n"), done.stderr)
    for name, options, place, status in (("no such port", [], {"port": "15990"}, 2), ("no such volume", [], {"volume": "none"}, 9),
                                         ("a wrong password", ["-w", "wrong"], {}, 10), ("a read-only volume", [], {"volume": "read-only"}, 3)):
        for compat in ([], ["--compat"]):
            done = lantest("-f", "1", *options, *compat, **place)
            expected = status if compat else 1 if status == 3 else 2
            case(f"{' '.join([name, *compat])}: status {expected} and a line",
                 done.returncode == expected and re.fullmatch(r"fsbench lantest: .*\n", done.stderr), (done.returncode, done.stderr))
    done = run(FSBENCH, "lantest", "-f", "1", "--compat")
    case("no volume: status 1", done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr)


def started(*options, **more):
    return subprocess.Popen(command(*options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def passwords():
    with open("password", "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as secret:
        secret.write(os.environ["AFP_PASSWORD"] + "\n")
    without = {name: value for name, value in os.environ.items() if name != "AFP_PASSWORD"}
    quick = command("-f", ":", "-n", "1", "--percent", "1")
    done = run(*quick, "--password-file", "password", env=without)
    case("a password from a file", done.returncode == 0, done.stderr)
    done = run(*quick, env=without, start_new_session=True)
    case("no password and no terminal: status 2 and a line", done.returncode == 2 and re.fullmatch(
        "fsbench lantest: no password for tester@.*\n", done.stderr), (done.returncode, done.stderr))
    told = run(FSBENCH, "lantest", os.environ["AFP_URL"].replace("@", ":secret@"))
    case("a password in a URL is refused and not repeated", (told.returncode, told.stderr.count("\n")) == (2, 1) and "secret" not in
         told.stdout + told.stderr, (told.returncode, told.stderr))


def cache_statistics():
    """The server tells them at the end of a session; where its log is, its settings in /etc say."""
    log = os.path.join(os.environ["AFP_ROOT"], "var/log/afpd.log")
    settings = os.path.join(os.environ["AFP_ROOT"], "etc/netatalk/afp.conf")
    subprocess.run([f"{SERVERS}/netatalk", "--stop"], check=True)
    with open(settings, encoding="utf-8") as file:
        text = file.read()
    with open(settings, "w", encoding="utf-8") as file:
        file.write(text.replace("log level = default:note", "log level = default:info"))
    subprocess.run([f"{SERVERS}/netatalk", "--start"], check=True)
    os.mkdir("memory")
    subprocess.run(["mount", "-t", "tmpfs", "none", "memory"], check=True)
    os.makedirs("memory/upper/netatalk")
    os.mkdir("memory/work")
    with open("memory/upper/netatalk/afp.conf", "w", encoding="utf-8") as file:
        file.write(f"[Global]\n log file = {log}\n")
    subprocess.run(["mount", "-t", "overlay", "none", "-o", "lowerdir=/etc,upperdir=memory/upper,workdir=memory/work", "/etc"], check=True)
    for _ in range(20):  # a slow server tells those of one session during the next
        done = lantest("-K", "--percent", "1", "-n", "1")
        if done.returncode != 0 or "(AD)" in done.stdout:
            break
    subprocess.run(["umount", "--lazy", "/etc"], check=True)
    shape = rf"\nDircache Statistics \({re.escape(log)}\):\n-{{66}}\n" + "".join(
        rf".* dircache statistics \({kind}\): \(user: tester\) .*\n" for kind in ("LRU", "hints", "AD")) + "\n$"
    case("the server's statistics of its cache follow, one line of each kind", done.returncode == 0 and re.search(shape, done.stdout), done.stdout)


def endings():
    without = {name: value for name, value in os.environ.items() if name != "AFP_PASSWORD"}
    long = started("-f", "4", "-n", "200", "-w", os.environ["AFP_PASSWORD"], env=without)
    first = [long.stdout.readline() for _ in range(3)]
    with open(f"/proc/{long.pid}/cmdline", "rb") as words:
        shown = words.read()
    case("the password of -w is not to be seen", os.environ["AFP_PASSWORD"].encode() not in shown and b"-w" in shown, shown)
    long.send_signal(signal.SIGINT)
    out, err = long.communicate(timeout=20)
    case("^C ends it with status 1 and one line", (long.returncode, err) == (1, "fsbench lantest: interrupted\n"), (first, long.returncode, err))
    case("^C leaves nothing behind", "Successfully deleted" in out and nothing_left(), out)
    long = started("-f", "4", "-n", "200", "--compat")
    for _ in range(3):
        long.stdout.readline()
    subprocess.run([f"{SERVERS}/netatalk", "--stop"], check=True)
    out, err = long.communicate(timeout=60)
    case("a server that goes away: status 5, and what may be left", long.returncode == 5 and
         re.fullmatch(r"fsbench lantest: iteration \d+, test 4: FP.*; the test directory 'LanTest-\d+' may be left behind\n", err),
         (long.returncode, err))


def counted(*options):
    """The tests as operations: how many of each kind were measured in each test."""
    done = run(FSBENCH, "lantest", "--operations", "--percent", "1", "-n", "2", "--json", *options)
    rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
    return {row["test"]: {kind: times["count"] for kind, times in row["commands"].items()} for row in rows}, done


def as_operations():
    expected, _ = counted("memory:")
    for name, url, directory in targets_of_server():
        counts, done = counted(url)
        case(f"{name}: operations as on memory:", counts == expected, (counts, expected, done.stderr))
        done = run(FSBENCH, "lantest", "--operations", "--percent", "1", "-n", "1", "--sessions", "3", "--json", url)
        together = json.loads(done.stdout) if done.returncode == 0 else {"rows": [], "sessions": []}
        case(f"{name}: three sessions make three times the operations", len(together["sessions"]) == 3 and {
            row["test"]: {kind: 2 * times["count"] for kind, times in row["commands"].items()} for row in together["rows"]} == {
                test: {kind: 3 * count for kind, count in kinds.items()} for test, kinds in expected.items()}, (together, done.stderr))
        left = [entry for entry in os.listdir(directory) if entry.startswith("LanTest")]
        case(f"{name}: nothing is left", not left, left)
    sys.exit(1 if failed else 0)


def on_directories():
    counts, done = counted("memory:")
    case("all twelve tests as operations", len(counts) == 12 and counts[1] == {
        "lookup": 60, "open": 20, "getattr": 40, "read": 20, "release": 20} and counts[12] == {"lookup": 600}, (counts, done.stderr))
    os.mkdir("d")
    done = run(FSBENCH, "lantest", "--percent", "1", "-n", "1", "-f", "19", "d")
    case("a directory needs no URL; labels say what it is", done.returncode == 0 and len(re.findall(r"^Run 1 => .* \[as operations\] +\d+ ms$",
         done.stdout, re.M)) == 2 and re.search(r"^Sum of all operations = 190 ", done.stdout, re.M) and not os.listdir("d"), done.stdout + done.stderr)
    done = run(FSBENCH, "lantest", "-f", "3", "-F", "none", "d")
    case("a failure, by operation", (done.returncode, done.stderr) == (
        1, "fsbench lantest: iteration 1, test 3: lookup of 'none': No such file or directory\n") and not os.listdir("d"), done.stderr)
    done = run(FSBENCH, "lantest", "-w", "secret", "d")
    case("options of AFP alone are refused elsewhere", done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr)
    done = run(FSBENCH, "compare", "--rounds", "2", "-q", "memory:", "d", "--", "lantest", "--percent", "1", "-n", "1", "-f", "19")
    case("fsbench compare takes it", done.returncode == 0 and "Directory cache hits" in done.stdout, done.stdout + done.stderr)
    done = run(FSBENCH, "lantest", "--percent", "1", "-n", "2", "--json", "--results", "operations.sqlite", "memory:")
    commands_of = {(row["test"], kind): times["count"] for row in json.loads(done.stdout)["rows"] for kind, times in row["commands"].items()}
    case("the database has each iteration of each test, and what JSON has of commands", rows("operations.sqlite", "select test, iteration from tests order by test, iteration") ==
         [(test, i) for test in range(1, 13) for i in (1, 2)] and commands_of ==
         {(int(what[5:]), kind): count for what, kind, count in rows("operations.sqlite", "select what, kind, count from distributions")} and
         rows("operations.sqlite", "select exit_status, server_cpu_ns from run join tests on run = id limit 1") == [(0, None)], done.stderr)
    done = run(FSBENCH, "lantest", "-f", "1", "--results", "/dev/null", "memory:")
    case("what is no database is refused", done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout, (done.returncode, done.stderr))
    long = subprocess.Popen([FSBENCH, "lantest", "-f", "5", "-n", "256", "d"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        long.stdout.readline()
    long.send_signal(signal.SIGINT)
    _, err = long.communicate(timeout=20)
    case("^C in a directory", (long.returncode, err) == (1, "fsbench lantest: interrupted\n") and not os.listdir("d"), (long.returncode, err))


def children_of_server():
    with open(os.path.join(os.environ["NETATALK_DIR"], "afpd.pid"), encoding="ascii") as file:
        parent = file.read().strip()
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as children:
        return [int(pid) for pid in children.read().split()]


def sessions():
    done = lantest("--sessions", "3", "--percent", "2", "-n", "2", "-f", "1248", "-c", "--results", "sessions.sqlite")
    several = re.findall(r"^(\d|all),(\S.*AFP ops\]),(\d+),\d+\.\d,\d+$", done.stdout, re.M)
    case("three sessions: lines of each and of all, test by test", done.returncode == 0 and not done.stderr and
         [who for who, _, _ in several] == [who for who in ("1", "2", "3", "all") for _ in range(4)], done.stdout + done.stderr)
    case("three sessions: nothing is left", done.stdout.count("Successfully deleted") == 3 and nothing_left(), done.stdout)
    case("three sessions: all together begin with the first and end with the last, and the sum of their commands is theirs", rows(
        "sessions.sqlite", "select count(*), sum(together.elapsed_ns >= longest and together.elapsed_ns < total) from (select test, iteration, "
        "max(elapsed_ns) longest, sum(elapsed_ns) total from tests where session > 0 group by 1, 2) join tests together using (test, iteration) "
        "where session = 0") == [(8, 8)] and rows("sessions.sqlite", "select what = 'test 4', sum(count) from distributions where "
                                                  "kind = 'FPByteRangeLock' group by what = 'test 4'") == [(0, 2400), (1, 2400)], done.stdout)
    before = set(children_of_server())
    running = started("--sessions", "3", "--percent", "50", "-n", "4", "-f", "4")
    while not running.stdout.readline().startswith("Session"):
        pass
    os.kill(min(set(children_of_server()) - before), signal.SIGKILL)
    out, err = running.communicate(timeout=60)
    case("a session that fails is named, the others go on", running.returncode == 1 and "All 2 sessions together" in out and re.fullmatch(
        r"fsbench lantest: session \d: iteration \d, test 4: FP.*: Connection reset by peer; "
        r"the test directory 'LanTest-\d+-\d' may be left behind\n", err), (running.returncode, out, err))
    left = [entry for entry in os.listdir(os.environ["AFP_DIR"]) if entry.startswith("LanTest")]
    case("its directory alone is left", len(left) == 1 and left[0] in err, left)
    shutil.rmtree(os.path.join(os.environ["AFP_DIR"], left[0]))
    running = started("--sessions", "2", "-f", "4", "-n", "200")
    while not running.stdout.readline().startswith("Session"):
        pass
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    case("^C ends two sessions with one line, and nothing is left", (running.returncode, err) == (1, "fsbench lantest: interrupted\n") and
         nothing_left(), (running.returncode, err))


def beside_original(tests):
    on_the_wire(tests)
    if tests == QUICK_TESTS:
        layouts()
        choices()
        more_than_text()
        failures()
        passwords()
        sessions()
        cache_statistics()
        endings()
    sys.exit(1 if failed else 0)


def main():
    if sys.argv[1:2] == ["--on-server"]:
        as_operations()
    if sys.argv[1:2] == ["--beside"]:
        beside_original(sys.argv[2])
    tests = ALL_TESTS if "--whole" in sys.argv else QUICK_TESTS
    with scratch():
        done = run(f"{SERVERS}/netatalk", sys.executable, os.path.abspath(__file__), "--beside", tests, timeout=280)
        print(done.stdout, end="", flush=True)
        case("beside Netatalk", done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr[-500:])
        failed.extend(["a case on the server"] * done.stdout.count("not ok - "))
        on_directories()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
