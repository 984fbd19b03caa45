#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench postmark beside Debian's postmark: the same transcript and, as captures show it, the same requests for random settings; the
same counts on every kind of server, where nothing is left behind; ^C and bad input."""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, captured, case, failed, on_servers, run, same_requests, scratch, targets_of_server  # noqa: E402


def write(name, text):
    with open(name, "w", encoding="ascii") as out:
        out.write(text)
    return name


def settings(chance, where):
    low = chance.choice([1, 500, 4096, 5000])
    return "".join(f"{line}\n" for line in [
        f"set location {where}", f"set number {chance.choice([1, 2, 5, 20])}", f"set transactions {chance.choice([10, 20, 100])}",
        f"set seed {chance.randint(1, 10**6)}", f"set size {low} {low + chance.choice([0, 1, 100, 9000, 20000])}",
        f"set read {chance.choice([60, 512, 4096, 5000, 8192])}", f"set write {chance.choice([70, 512, 4096, 5000, 10000])}",
        f"set buffering {chance.choice(['true', 'false'])}", f"set subdirectories {chance.choice([0, 1, 3])}",
        f"set bias read {chance.choice([-1, 0, 5, 10])}", f"set bias create {chance.choice([-1, 3, 5, 8])}",
        f"set report {chance.choice(['verbose', 'terse'])}", "show", "run", "quit"])


def beside_original():
    chance = random.Random(5)
    for number in range(8):
        config = write(f"{number}.pm", settings(chance, os.path.abspath("d")))
        theirs, their_run, _ = captured(["postmark", config], f"{number}.theirs.zst")
        ours, our_run, left = captured([FSBENCH, "postmark", config], f"{number}.ours.zst")
        same_requests(f"settings {number}", theirs, ours)
        # Seconds and rates may differ by what a busy machine does.
        numbers = re.compile(r"[0-9.]+")
        case(f"settings {number}: the same transcript", numbers.sub("0", their_run.stdout) == numbers.sub("0", our_run.stdout),
             f"{their_run.stdout}\n{our_run.stdout}")
        case(f"settings {number}: nothing is left", not left, left)


# Made with 1.53: the known counts of seed 42.
KNOWN = ("3030 created", "2454 read", "2537 appended", "3030 deleted", "15.59 megabytes read", "19.19 megabytes written")


def on_server():
    for name, url, directory in targets_of_server():
        config = write("server.pm", f"set location {url}\nset transactions 1000\nset number 100\nset subdirectories 2\nrun\nquit\n")
        done = run(FSBENCH, "postmark", "--detail", config, timeout=250)
        case(f"{name}: ends well", done.returncode == 0, done.stdout + done.stderr)
        told = re.findall(r"[0-9]+ (?:created|files|read|appended|deleted) ", done.stdout)
        case(f"{name}: nothing failed", not re.search(r"^\S.*  +[0-9]+ +[1-9][0-9]* +[0-9.]+ ", done.stdout, re.M), done.stdout)
        left = [entry for entry in os.listdir(directory) if not entry.startswith(".")]
        case(f"{name}: nothing is left", not left, left)
        config = write("memory.pm", open(config, encoding="ascii").read().replace(url, "memory:"))
        done = run(FSBENCH, "postmark", config)
        expected = re.findall(r"[0-9]+ (?:created|files|read|appended|deleted) ", done.stdout)
        case(f"{name}: counts as on memory:", len(expected) == 8 and told == expected, (told, expected))
    sys.exit(1 if failed else 0)


def known_counts():
    os.mkdir("seed42")
    config = write("seed42.pm", f"set location {os.path.abspath('seed42')}\nset transactions 5000\nrun\nset report terse\nrun\nquit\n")
    done = run(FSBENCH, "postmark", config, timeout=200)
    case("seed 42 has the original's counts", done.returncode == 0 and all(known in done.stdout for known in KNOWN), done.stdout)
    write("copies.pm", f"set location {os.path.abspath('seed42')}\nset transactions 100\nset number 200\nrun\nquit\n")
    done = run(FSBENCH, "postmark", "--streams", "5", "copies.pm", timeout=200)
    case("five copies create five times as many alone", done.returncode == 0 and "Creation alone: 1000 files" in done.stdout, done.stdout)
    case("copies leave nothing behind", not os.listdir("seed42"), os.listdir("seed42"))


def command_lines():
    """Commands as the original takes them: limits of sizes, the list of help, and where a report goes."""
    theirs = run("postmark", write("help.pm", "help set\nhelp nothing\nset size 1 1073741824\nset size 1 2000000000\nshow\nquit\n"))
    ours = run(FSBENCH, "postmark", "help.pm")
    case("help and sizes are the original's", ours.stdout == theirs.stdout and ours.stderr == "" and ours.returncode == 0, (ours, theirs))
    refused = run(FSBENCH, "postmark", write("size.pm", "set size 1 2000000001\nquit\n"))
    case("a size above those is refused", refused.returncode == 2 and refused.stderr.startswith("Error: no file size"), refused)
    for line, message in (("set location . 9000000000000000000", "invalid weight: expected at most 1000000"),
                          ("set number 1000000000\nrun", "set number 1000000000: needs 64000000000 bytes of memory, expected at most ")):
        done = run(FSBENCH, "postmark", write("much.pm", f"{line}\nset location . 1000000\nset location +seed42 1\nset number 50\nset transactions 20\nrun\nquit\n"))
        case(f"{line.splitlines()[0]}: refused in words, and the next run is made", done.returncode == 1 and "seconds total" in done.stdout
             and done.stderr.startswith(f"Error: {message}") and done.stderr.count("\n") == 1, done)
    for name, file, lines in (("can't be made", "/nonexistent/report", 1), ("is full", "/dev/full", 1), ("can be written", "report", 0)):
        done = run(FSBENCH, "postmark", write("run.pm", f"set number 50\nset transactions 20\nrun {file}\nquit\n"))
        case(f"a file for the report that {name}: the report is printed where it can be", ("seconds total" in done.stdout) == bool(lines)
             and done.stderr.count("\n") == lines and done.returncode == lines
             and done.stderr.startswith(f"Error: cannot write '{file}': " if lines else ""), done)
    with open("report", encoding="ascii") as report:
        case("the report is in its file", "seconds total" in report.read())
    done = run(FSBENCH, "postmrk", "--detail", "run.pm")
    case("a misspelt subcommand is named, not its options", done.returncode == 2 and
         done.stderr.startswith("fsbench: postmrk: no such subcommand; did you mean postmark?"), done)


def endings():
    os.mkdir("long")
    config = write("long.pm", f"set location {os.path.abspath('long')}\nset transactions 100000000\nset number 5000\nrun\nquit\n")
    long = subprocess.Popen([FSBENCH, "postmark", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    case("a long run has made files", len(os.listdir("long")) > 10)
    long.send_signal(signal.SIGINT)
    out, err = long.communicate(timeout=20)
    case("^C ends it with status 1 and one line", long.returncode == 1 and err == "fsbench postmark: interrupted\n", (long.returncode, err))
    case("^C leaves no file behind and prints no report", not os.listdir("long") and "seconds total" not in out, os.listdir("long"))
    for name, config, status, line in (
            ("no such file", None, 2, "fsbench postmark: /nonexistent.pm: No such file or directory"),
            ("no such directory", "set location /nonexistent/x\nrun\nquit\n", 2, "Error: /nonexistent/x: No such file or directory"),
            ("a wrong value", "set size banana\nquit\n", 2, "Error: no file size low or high bounds specified"),
            ("an unknown target", "set location gopher://x/\nrun\nquit\n", 2, "Error: "),
            ("a wrong value before a run", "set size banana\nset number 5\nset transactions 5\nrun\nquit\n", 1, "Error: no file size")):
        done = run(FSBENCH, "postmark", write("bad.pm", config) if config else "/nonexistent.pm", timeout=20)
        case(f"{name}: status {status} and a line", done.returncode == status and done.stderr.startswith(line) and
             done.stderr.count("\n") == 1, (done.returncode, done.stderr))


def main():
    if sys.argv[1:2] == ["--on-server"]:
        os.chdir(tempfile.mkdtemp())
        on_server()
    with scratch():
        beside_original()
        known_counts()
        command_lines()
        endings()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
