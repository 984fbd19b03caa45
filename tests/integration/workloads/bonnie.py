#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench bonnie beside Debian's bonnie++: as captures show it, the same requests with the same names for the same seed; its layouts;
every kind of server, where nothing is left behind; what goes wrong in the middle, ^C and bad input."""
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, SERVERS, captured, case, ended_well, failed, on_servers, run, same_requests, scratch, targets_of_server, without_stands  # noqa: E402

ANY_SIZE = ["-r", "0", "-u", "root", "-z", "7", "-m", "host"]
WITHOUT_BYTES = ["-f", *ANY_SIZE]


def sorted_handling(calls):
    """With opening, syncing and removing the big file at the end: during the seeks, two of the original's threads do so."""
    handling = [c for c in calls if c[1] == "Bonnie" and c[0] in ("open", "fsync", "unlink")]
    return [c for c in calls if c not in handling] + sorted(handling, key=str)


def beside_original():
    for name, settings in (
            # One seeker: with several, the order is chance.
            ("big file", ["-s", "2:4096:100:1", "-n", "0"]),
            ("small files", ["-s", "0", "-n", "1:6000:10:3:4096"]),
            ("hard links", ["-s", "0", "-n", "1:-1"]),
            ("symlinks", ["-s", "0", "-n", "1:-2"]),
            ("everything synced", ["-s", "1:65536:30:1", "-n", "1:0:0:2", "-b"])):
        with ThreadPoolExecutor() as pool:
            original = pool.submit(captured, ["bonnie++", "-d", "theirs", *WITHOUT_BYTES, *settings], f"{name}.theirs.zst", "theirs")
            ours, done, left = captured([FSBENCH, "bonnie", "-d", "ours", *WITHOUT_BYTES, *settings], f"{name}.ours.zst", "ours")
            theirs, _, _ = original.result()
        same_requests(name, sorted_handling(theirs), sorted_handling(ours))
        case(f"{name}: ends well, nothing is left", ended_well(done) and not left, (done, left))


def listings():
    """Of three directories: the parts that getdents64 gives to the original, which stands in each, and to ours."""
    parts = {}
    for program, *command in (("theirs", "bonnie++"), ("ours", FSBENCH, "bonnie")):
        os.mkdir(program)
        run("strace", "-f", "-y", "-e", "trace=getdents64", "-o", f"{program}.strace", *command, "-d", program, *WITHOUT_BYTES, "-s", "0", "-n", "1:0:0:3")
        with open(f"{program}.strace", encoding="utf-8") as lines:
            parts[program] = [found.groups() for found in (re.search(r"/Bonnie[^/>]*/(\d+)>.* (\d+) entries \*/, (\d+)", line) for line in lines) if found]
    case("three directories are listed by as many calls as the original's", parts["theirs"] == parts["ours"] and len(parts["theirs"]) == 12, parts)


def server_goes_away(url):
    run_ = Prompted("-d", url, "-s", "4", "-n", "0")
    run_.await_test(1)
    run_.go_on()
    run_.await_test(2)
    run(os.path.join(SERVERS, "diod"), "--stop")
    run_.go_on()
    status, out, line = run_.end()
    case("a server that goes away: status 1, a line that says what is left, the test before", status == 1 and
         re.match("fsbench bonnie: .*can't .*Bonnie.*: Connection .*; can't remove Bonnie", line) and "1.98,2.00a,host" in out, (status, out, line))


ROWS = ["put_block", "rewrite", "get_block", "seeks", "seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"]


def on_server():
    for name, url, directory in targets_of_server():
        done = run(FSBENCH, "bonnie", "-d", url, *WITHOUT_BYTES, "-s", "4:8192:200:3", "-n", "1:5000:0:2", "-q", "--json", timeout=250)
        case(f"{name}: ends well", ended_well(done), done.stdout + done.stderr)
        rows = [row["name"] for row in json.loads(done.stdout or '{"rows": []}')["rows"] if row["rate"] > 0]
        case(f"{name}: every test has a rate", rows == ROWS, rows)
        left = [entry for entry in os.listdir(directory) if not entry.startswith(".")]
        case(f"{name}: nothing is left", not left, left)
        if name == "9P2000.L":
            server_goes_away(url)


def layouts():
    little = [*ANY_SIZE, "-s", "1:4096", "-n", "1"]
    done = run(FSBENCH, "bonnie", "-d", "memory:", *little)
    theirs = run("bonnie++", "-d", ".", *little)
    number = re.compile(r"[+0-9.]+([mu]?s|[kmg])?")

    def shape(text):
        """Without the numbers, which are of chance, and the CSV's."""
        return [number.sub("N", line).split() for line in text.splitlines() if line and "," not in line]

    case("the table is the original's but for numbers", shape(done.stdout) == shape(theirs.stdout), done.stdout + theirs.stdout)
    case("the same words meanwhile", without_stands(done.stderr) == theirs.stderr, done.stderr)
    case("a line of 50 fields", done.stdout.splitlines()[-1].count(",") == 49, done.stdout)
    page = subprocess.run(["bon_csv2html"], input=done.stdout.splitlines()[-1] + "\n", capture_output=True, text=True, check=False).stdout
    case("bon_csv2html takes it", "host" in page and "1M" in page, page)
    done = run(FSBENCH, "bonnie", "-d", "memory:", *little, "-q", "--layout", "1.03")
    case("1.03: a line of 27 fields, alone on standard output", done.stdout.count(",") == 26 and done.stdout.count("\n") == 1, done.stdout)
    case("1.03: its table on standard error", "Machine        Size K/sec" in done.stderr and "host          1M:4k" in done.stderr, done.stderr)
    done = run(FSBENCH, "bonnie", "-d", "memory:", *WITHOUT_BYTES, "-s", "1", "-n", "0", "-x", "2")
    case("two rounds: a heading and two lines", re.fullmatch(r"format_version,.*\n(1.98,2.00a,host,.*\n){2}", done.stdout), done.stdout)


class Prompted:
    """A run that waits for a line before each test."""
    def __init__(self, *options):
        self.run = subprocess.Popen([FSBENCH, "bonnie", *WITHOUT_BYTES, "-y", "p", *options], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def await_test(self, number):
        for line in self.run.stdout:
            if line == f"{number}:\n":
                return
            if line != "\n":
                self.go_on()

    def go_on(self):
        self.run.stdin.write("\n")
        self.run.stdin.flush()

    def end(self):
        out, err = self.run.communicate(timeout=60)
        return self.run.returncode, out, without_stands(err).splitlines()[-1]


def failures():
    os.mkdir("e")
    run_ = Prompted("-d", "e", "-s", "0", "-n", "1:0:0:2")
    run_.await_test(7)
    for name in os.listdir(f"e/Bonnie.{run_.run.pid}/00001")[:3]:
        os.unlink(f"e/Bonnie.{run_.run.pid}/00001/{name}")
    run_.go_on()
    status, out, line = run_.end()
    case("files that are not listed: told, with what was measured", status == 1 and "Expected 1024 files but only got 1021" in line
         and "files:max" not in out and "Sequential Create" in out, (status, out, line))
    case("files that are not listed: the others are removed", not os.listdir("e"), os.listdir("e"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", "e"], check=True)
    done = run(FSBENCH, "bonnie", "-d", "e", *ANY_SIZE, "-f1", "-s", "8", "-n", "1")
    case("a full file system: a line, the test before it, nothing left",
         done.returncode == 1 and "writing intelligently: can't write at byte" in without_stands(done.stderr).splitlines()[-1]
         and "No space left on device" in done.stderr and "latency" in done.stdout.lower() and not os.listdir("e"), done)
    subprocess.run(["umount", "e"], check=True)
    os.chmod("e", 0o755)
    done = run(FSBENCH, "bonnie", "-d", "e", "-f", "-r", "0", "-u", "nobody", "-s", "1", "-n", "0", "-q")
    case("a directory that is not writable", done.returncode == 1 and re.search("can't create Bonnie.*Permission denied\n", done.stderr), done)
    for name, options, line in (
            ("a missing directory", ["-d", "nowhere"], "fsbench bonnie: nowhere: No such file or directory"),
            ("an odd chunk", ["-s", "1:5000"], "fsbench bonnie: -s, -n: expected chunks of 256 to 1048576 bytes"),
            ("no number", ["-n", "many"], "fsbench bonnie: 'many': expected a number"),
            ("nothing to do", ["-s", "0", "-n", "0"], "fsbench bonnie: nothing to do")):
        done = run(FSBENCH, "bonnie", *WITHOUT_BYTES, "-q", *options)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.startswith(line) and done.stderr.count("\n") == 1, done)


    done = run(FSBENCH, "bonnie", "-r", "0")
    case("root must say -u", done.returncode == 2 and 'You must use the "-u" switch' in done.stderr, done)
    done = run(FSBENCH, "bonnie", "-u", "root", "-r", "100", "-s", "100")
    case("less than the memory's double", done.returncode == 2 and "should be double RAM" in done.stderr, done)


def interrupted():
    os.mkdir("long")
    for name, number, options in (("big file", 4, ["-s", "64:8192:100000000", "-n", "0"]), ("small files", 6, ["-s", "0", "-n", "1000"])):
        run_ = Prompted("-d", "long", *options)
        run_.await_test(number)
        run_.go_on()
        if name == "big file":
            run_.go_on()
        time.sleep(0.5)
        run_.run.send_signal(signal.SIGINT)
        status, out, line = run_.end()
        case(f"^C in {name}: status 1 and a line", status == 1 and line == "fsbench bonnie: interrupted", (status, line))
        case(f"^C in {name}: nothing is left", not os.listdir("long"), os.listdir("long"))
        case(f"^C in {name}: what was measured is printed", "1.98,2.00a,host" in out, out)
    run_ = Prompted("-d", "long", "-s", "0", "-n", "200:0:0:4")
    run_.await_test(8)
    top = f"long/Bonnie.{run_.run.pid}"
    first = os.listdir(top)
    run_.go_on()
    while len(os.listdir(top)) == len(first) and run_.run.poll() is None:
        time.sleep(0.001)
    run_.run.send_signal(signal.SIGINT)
    left = len(os.listdir(top)) if os.path.isdir(top) else 0
    status, out, line = run_.end()
    case("^C after the first of four directories was deleted: a line, nothing is left", status == 1 and line == "fsbench bonnie: interrupted"
         and left in (1, 2, 3) and not os.listdir("long"), (status, line, left, os.listdir("long")))


def together():
    """With the original, at semaphores."""
    run(FSBENCH, "bonnie", "-p", "2")
    options = [*WITHOUT_BYTES, "-s", "0", "-n", "1", "-y", "s"]
    other = threading.Thread(target=run, args=("bonnie++", "-d", "long", *options))
    other.start()
    done = run(FSBENCH, "bonnie", "-d", "long", *options)
    other.join()
    case("begins each test together with the original", ended_well(done), done)
    done = run(FSBENCH, "bonnie", "-p", "-1")
    case("semaphores are removed", done.returncode == 0 and done.stdout == "Semaphore removed.\n", done)


def main():
    if sys.argv[1:2] == ["--on-server"]:
        on_server()
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True):
        beside_original()
        listings()
        layouts()
        failures()
        interrupted()
        together()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
