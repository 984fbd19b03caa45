#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench postmark beside Debian's postmark: the same transcript and, as captures show it, the same requests for random settings; the
same counts on every kind of server, where nothing is left behind; ^C and bad input."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
FSBENCH = os.path.join(BUILD, "tools/fsbench")
SERVERS = os.path.join(SOURCE, "tests", "servers")
# What both programs' captures differ in: look-ups and closes are the kernel's to order.
UNCOMPARED = {"lookup", "getattr", "statx", "access", "opendir", "releasedir", "readdir", "flush", "release", "statfs", "getxattr", "lseek",
              "ioctl"}
failures = 0


def case(name, fine, why=""):
    global failures
    failures += not fine
    print(f"ok - {name}" if fine else f"not ok - {name}: {why}", flush=True)


def write(name, text):
    with open(name, "w", encoding="ascii") as out:
        out.write(text)
    return name


def captured(program, config, trace):
    """Requests and standard output of a run in the directory d."""
    os.mkdir("d")
    run = subprocess.run([f"{BUILD}/shim/fsshim", "capture", "d", "-o", trace, "--", *program, config], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=120, check=False)
    left = os.listdir("d")
    shutil.rmtree("d")
    dump = subprocess.run([f"{BUILD}/tools/fstrace", "dump", "--json", trace], capture_output=True, text=True, check=True).stdout
    ops = [json.loads(line) for line in dump.splitlines()]
    calls = [("open" if o["kind"] == "create" else o["kind"], o.get("path"), o.get("offset"), o.get("length"), o.get("result"),
              o.get("mode"), o.get("error")) for o in ops if o["kind"] not in UNCOMPARED]
    return calls, run.stdout, left


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
        theirs, their_text, _ = captured(["postmark"], config, f"{number}.theirs.zst")
        ours, our_text, left = captured([FSBENCH, "postmark"], config, f"{number}.ours.zst")
        differs = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
        with open(config, encoding="ascii") as text:
            case(f"settings {number}: {len(theirs)} requests as the original's", theirs == ours and theirs,
                 f"{text.read()}: number {differs}: {theirs[differs:differs + 2]} {ours[differs:differs + 2]}")
        # Seconds and rates may differ by what a busy machine does.
        numbers = re.compile(r"[0-9.]+")
        case(f"settings {number}: the same transcript", numbers.sub("0", their_text) == numbers.sub("0", our_text),
             f"{their_text}\n{our_text}")
        case(f"settings {number}: nothing is left", not left, left)


# Made with 1.53: the known counts of seed 42.
KNOWN = ("3030 created", "2454 read", "2537 appended", "3030 deleted", "15.59 megabytes read", "19.19 megabytes written")


def on_server():
    for name, url, directory in [line.split() for line in sys.argv[2:]]:
        url, directory = os.environ[url], os.environ[directory]
        config = write("server.pm", f"set location {url}\nset transactions 1000\nset number 100\nset subdirectories 2\nrun\nquit\n")
        run = subprocess.run([FSBENCH, "postmark", "--detail", config], capture_output=True, text=True, timeout=250, check=False)
        case(f"{name}: ends well", run.returncode == 0, run.stdout + run.stderr)
        told = re.findall(r"[0-9]+ (?:created|files|read|appended|deleted) ", run.stdout)
        case(f"{name}: nothing failed", not re.search(r"^\S.*  +[0-9]+ +[1-9][0-9]* +[0-9.]+ ", run.stdout, re.M), run.stdout)
        left = [entry for entry in os.listdir(directory) if not entry.startswith(".")]
        case(f"{name}: nothing is left", not left, left)
        config = write("memory.pm", open(config, encoding="ascii").read().replace(url, "memory:"))
        run = subprocess.run([FSBENCH, "postmark", config], capture_output=True, text=True, timeout=100, check=False)
        expected = re.findall(r"[0-9]+ (?:created|files|read|appended|deleted) ", run.stdout)
        case(f"{name}: counts as on memory:", len(expected) == 8 and told == expected, (told, expected))
    sys.exit(1 if failures else 0)


def servers():
    for server, targets in (("ganesha", ["NFSv3 NFS_VFS_URL NFS_VFS_DIR", "NFSv4.1 NFS4_VFS_URL NFS_VFS_DIR"]),
                            ("diod", ["9P2000.L P9_URL P9_DIR"]), ("netatalk", ["AFP AFP_URL AFP_DIR"])):
        run = subprocess.run([f"{SERVERS}/{server}", sys.executable, os.path.abspath(__file__), "--on-server", *targets], timeout=280,
                             capture_output=True, text=True, check=False)
        print(run.stdout, end="", flush=True)
        if run.returncode not in (0, 1):
            case(server, False, run.stderr[-500:])
        global failures
        failures += run.stdout.count("not ok - ")


def known_counts():
    os.mkdir("seed42")
    config = write("seed42.pm", f"set location {os.path.abspath('seed42')}\nset transactions 5000\nrun\nset report terse\nrun\nquit\n")
    run = subprocess.run([FSBENCH, "postmark", config], capture_output=True, text=True, timeout=200, check=False)
    case("seed 42 has the original's counts", run.returncode == 0 and all(known in run.stdout for known in KNOWN), run.stdout)
    write("copies.pm", f"set location {os.path.abspath('seed42')}\nset transactions 100\nset number 200\nrun\nquit\n")
    run = subprocess.run([FSBENCH, "postmark", "--streams", "5", "copies.pm"], capture_output=True, text=True, timeout=200, check=False)
    case("five copies create five times as many alone", run.returncode == 0 and "Creation alone: 1000 files" in run.stdout, run.stdout)
    case("copies leave nothing behind", not os.listdir("seed42"), os.listdir("seed42"))


def endings():
    os.mkdir("long")
    config = write("long.pm", f"set location {os.path.abspath('long')}\nset transactions 100000000\nset number 5000\nrun\nquit\n")
    run = subprocess.Popen([FSBENCH, "postmark", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    case("a long run has made files", len(os.listdir("long")) > 10)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=20)
    case("^C ends it with status 1 and one line", run.returncode == 1 and err == "fsbench postmark: interrupted\n", (run.returncode, err))
    case("^C leaves no file behind and prints no report", not os.listdir("long") and "seconds total" not in out, os.listdir("long"))
    for name, config, status, line in (
            ("no such file", None, 2, "fsbench postmark: /nonexistent.pm: No such file or directory"),
            ("no such directory", "set location /nonexistent/x\nrun\nquit\n", 1, "Error: /nonexistent/x: No such file or directory"),
            ("a wrong value", "set size banana\nquit\n", 1, "Error: no file size low or high bounds specified"),
            ("an unknown target", "set location gopher://x/\nrun\nquit\n", 1, "Error: ")):
        run = subprocess.run([FSBENCH, "postmark", write("bad.pm", config) if config else "/nonexistent.pm"], capture_output=True,
                             text=True, stdin=subprocess.DEVNULL, timeout=20, check=False)
        case(f"{name}: status {status} and a line", run.returncode == status and run.stderr.startswith(line) and
             run.stderr.count("\n") == 1, (run.returncode, run.stderr))


def main():
    if sys.argv[1:2] == ["--on-server"]:
        os.chdir(tempfile.mkdtemp())
        on_server()
    scratch = tempfile.mkdtemp(prefix="fsshim-test.")
    os.chdir(scratch)
    try:
        beside_original()
        known_counts()
        endings()
        servers()
    finally:
        os.chdir("/")
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
