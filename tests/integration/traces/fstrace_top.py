#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fstrace top shows what fstrace stat counts, on lines of 80 columns, and follows a trace while it is recorded, to its end."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from fstrace_cases import BUILD, FSTRACE, case, failed, make_trace  # noqa: E402

os.environ["PATH"] = f"{BUILD}/shim:{BUILD}/tools:{os.environ['PATH']}"
SUMMARY = re.compile(r"^([\d,]+) operations, ", re.M)


def top(*arguments, **more):
    return subprocess.run([FSTRACE, "top", *arguments], capture_output=True, text=True, check=False, timeout=60, **more)


def stat(trace, *by):
    done = subprocess.run([FSTRACE, "stat", "--json", "--sort", "time", *by, trace], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["groups"]


def tables(screen):
    """heading: rows, each a list of its cells."""
    found = {}
    for part in screen.strip("\n").split("\n\n")[1:]:
        lines = part.splitlines()
        found[lines[0].split()[0]] = [[line[:-53].rstrip(), *re.split(" {2,}", line[-53:].strip())] for line in lines[1:]]
    return found


def operations(text):
    return sum(int(n.replace(",", "")) for n in SUMMARY.findall(text))


def one_screen():
    make_trace("a.zst", "--ops", "20000")
    done = top("--once", "--top", "1000", "a.zst")
    case("one screen", done.stderr if done.returncode else "")
    kinds = stat("a.zst")
    case("it has all operations", "" if operations(done.stdout) == sum(g["operations"] for g in kinds) else done.stdout[:300])
    shown = [row[0] for row in tables(done.stdout)["kind"]]
    case("kinds by time, as fstrace stat sorts them", "" if shown == [g["op"] for g in kinds] else f"{shown}, {[g['op'] for g in kinds]}")
    wide = [line for line in done.stdout.splitlines() if len(line) > 80]
    case("no line is wider than 80 columns", wide[:3])
    few = tables(top("--once", "--top", "2", "--sort", "operations", "a.zst").stdout)
    most = sorted(kinds, key=lambda g: -g["operations"])[:2]
    case("the two kinds with the most operations", "" if [row[0] for row in few["kind"]] == [g["op"] for g in most] and len(few["process"]) <= 2 else few)
    again = top("a.zst", "--interval", "100ms")
    case("a complete trace has one screen, and top ends", "" if again.returncode == 0 and len(SUMMARY.findall(again.stdout)) == 1 else again.stdout[-300:])


def hostile_names():
    os.mkdir("work")
    script = """
import os
os.chdir(b'work')
os.makedirs('a' * 100 + '/' + 'b' * 100)
for name in (b'\\x1b[31mred', b'new\\nline', b'\\xff', 'a' * 100 + '/' + 'b' * 100 + '/the-end', '\\u6f22\\u5b57' * 20):
    with open(name, 'wb') as f: f.write(b'x' * 1000)
for turn in range(3):
    open('journal', 'wb').close()
    os.unlink('journal')
"""
    subprocess.run(["fsshim", "capture", "work", "-o", "b.zst", "--", sys.executable, "-c", script], check=True, capture_output=True)
    done = top("--once", "--top", "100", "b.zst")
    files = [row[0] for row in tables(done.stdout)["file"]]
    case("names can't act on the terminal", "" if "\x1b" not in done.stdout and "\\x1b[31mred" in files and "new\\x0aline" in files else files)
    case("a long path keeps its end", "" if any(f.startswith("…") and f.endswith("/the-end") for f in files) else files)
    case("a path is one row, however many files had it", "" if files.count("journal") == 1 else files)

    def columns(line):
        return sum(2 if "\u1100" <= c < "\ud7a4" and not "\u2000" <= c < "\u2e80" else 1 for c in line)
    wide = {columns(line) for line in done.stdout.splitlines() if re.search(r"\d+(\.\d+)? [a-zA-Z]+$", line) and columns(line) != 80}
    case("wide characters keep the columns in place", [line for line in done.stdout.splitlines() if "\u6f22" in line and columns(line) != 80] or
         [w for w in wide if w > 80])


LOOP = "for i in $(seq 30); do for k in 1 2 3 4 5; do echo $i >work/$k; done; sleep 0.1; done"


def live():
    capture = subprocess.Popen(["fsshim", "capture", "work", "-o", "c.zst", "--", "sh", "-c", LOOP], stderr=subprocess.PIPE, text=True)
    with capture:
        deadline = time.monotonic() + 10
        while not (os.path.exists("c.zst") and os.path.getsize("c.zst")) and time.monotonic() < deadline:
            time.sleep(0.02)
        by_directory = subprocess.Popen([FSTRACE, "top", "work", "--once"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done = top("c.zst", "--interval", "300ms")
        of_directory, complaint = by_directory.communicate()
    screens = re.split(r"(?m)^(?=c\.zst: )", done.stdout)[1:]
    case("it follows a capture, screen by screen", "" if done.returncode == 0 and len(screens) >= 4 else (done.stderr, len(screens)))
    whole = sum(g["operations"] for g in stat("c.zst"))
    case("screens together have each operation once", "" if operations(done.stdout) == whole else f"{operations(done.stdout)} of {whole}")
    case("the last screen says that the trace is complete", "" if "not complete yet" in screens[0] and ": complete;" in screens[-1] else screens[-1])
    case("a captured directory leads to its trace", "" if by_directory.returncode == 0 and "c.zst: not complete yet" in of_directory else complaint)


LOCKS = """
import fcntl, os, sys, time
held = open('work/lock', 'w')
fcntl.lockf(held, fcntl.LOCK_EX)
if not os.fork():
    fcntl.lockf(open('work/lock', 'r+'), fcntl.LOCK_EX)
    os._exit(0)
time.sleep(4)
held.close()
os.wait()
"""


def long_operations():
    capture = subprocess.Popen(["fsshim", "capture", "work", "-o", "l.zst", "--", sys.executable, "-c", LOCKS], stderr=subprocess.PIPE, text=True)
    with capture:
        deadline = time.monotonic() + 10
        while not (os.path.exists("l.zst") and os.path.getsize("l.zst")) and time.monotonic() < deadline:
            time.sleep(0.02)
        done = top("l.zst", "--interval", "500ms")
    screens = [tables(screen) for screen in re.split(r"(?m)^(?=l\.zst: )", done.stdout)[1:]]
    waits = [row for screen in screens for row in screen.get("kind", []) if row[0] == "setlk"]
    case("a lock request that waits is in flight meanwhile", "" if sum(float(row[2]) >= 0.5 for row in waits) >= 2 else done.stdout)
    case("it has its latency in the end", "" if any(row[4].startswith(("3.", "4.")) and row[4].endswith(" s") for row in waits) else waits)
    whole = sum(g["operations"] for g in stat("l.zst"))
    case("and it is counted once", "" if operations(done.stdout) == whole else f"{operations(done.stdout)} of {whole}")


def by_pipe():
    """A capture by a pipe: top, dump and stat show what has come, and in the end what they show of the same trace as a file."""
    script = LOCKS.replace("time.sleep(4)", "[(open(f'work/{i % 5}', 'w').close(), time.sleep(0.05)) for i in range(45)]")
    pipe = f"fsshim capture work -o - -- {sys.executable} -c '{script.replace(chr(39), chr(34))}' | tee p.zst | {FSTRACE} top - --interval 500ms"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=False, timeout=30)
    screens = re.split(r"(?m)^(?=-: )", done.stdout)[1:]
    case("top follows a pipe, screen by screen", "" if done.returncode == 0 and len(screens) >= 3 and ": live" in screens[0] and ": complete" in screens[-1]
         else (done.stderr[-300:], len(screens)))
    whole = sum(g["operations"] for g in stat("p.zst"))
    case("its screens have each operation once", "" if operations(done.stdout) == whole else f"{operations(done.stdout)} of {whole}")
    waits = [row for screen in screens for row in tables(screen).get("kind", []) if row[0] == "setlk"]
    case("a lock request that waits has its latency in the end", "" if any(row[4].startswith("2.") and row[4].endswith(" s") for row in waits) else waits)

    pipe = f"fsshim capture work -o - -- sh -c 'echo 1 >work/first; while [ ! -e go ]; do sleep 0.02; done; rm work/first' | tee q.zst | {FSTRACE} dump -"
    with subprocess.Popen(["sh", "-c", pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dump:
        shown = []
        for line in dump.stdout:
            shown.append(line)
            if "first" in line and not os.path.exists("go"):
                open("go", "wb").close()
        dump.wait(timeout=30)
    same = subprocess.run([FSTRACE, "dump", "q.zst"], capture_output=True, text=True, check=True).stdout
    case("dump shows operations while the capture goes on, as of a file", "" if dump.returncode == 0 and "".join(shown) == same else shown[-3:])
    for options in ([], ["--by", "file"], ["--interval", "500ms"], ["--from", "1s", "--to", "2s", "--json"]):
        with open("p.zst", "rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            piped = subprocess.run([FSTRACE, "stat", *options, "-"], stdin=cat.stdout, capture_output=True, text=True, check=False, timeout=30)
        of_file = subprocess.run([FSTRACE, "stat", *options, "p.zst"], capture_output=True, text=True, check=True).stdout.replace("p.zst", "-")
        case(f"stat of a pipe is that of the file: {' '.join(options)}", "" if piped.returncode == 0 and piped.stdout == of_file else (piped.stdout[:300], of_file[:300]))


def terminal():
    pid, screen = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", f"sleep 0.3; exec {FSTRACE} top a.zst"])
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = b""
    try:
        while piece := os.read(screen, 65536):
            shown += piece
    except OSError:
        pass
    status = os.waitpid(pid, 0)[1]
    lines = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown.decode()).split("\r\n")
    case("in a terminal of 24 lines, everything is seen at once", "" if status == 0 and shown.startswith(b"\x1b[2J\x1b[H") and 15 <= len(lines) <= 24
         and max(map(len, lines)) <= 80 else lines)


def endings():
    with open("a.zst", "rb") as whole, open("cut.zst", "wb") as cut:
        cut.write(whole.read()[:-200])
    follower = subprocess.Popen([FSTRACE, "top", "cut.zst", "--interval", "10s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = follower.stdout.readline()
    time.sleep(0.2)
    follower.send_signal(signal.SIGINT)
    _, complaint = follower.communicate(timeout=5)
    case("a signal ends it", "" if follower.returncode == 0 and "not complete yet" in first and complaint == "" else (follower.returncode, complaint))
    reader = subprocess.run(f"{FSTRACE} top cut.zst --interval 10ms | head -n 1", shell=True, capture_output=True, text=True, check=False, timeout=20)
    case("it ends when nobody reads on", "" if "cut.zst" in reader.stdout else reader)
    os.mkdir("plain")
    for name, pattern in (("plain", "no capture of this directory is running"), ("none.zst", "No such file"), ("cases.txt", "not a trace")):
        with open("cases.txt", "w", encoding="ascii") as file:
            file.write("no trace\n" * 100)
        done = top(name)
        case(f"refused: {name}", "" if done.returncode == 2 and pattern in done.stderr and len(done.stderr.splitlines()) == 1 else done.stderr)


with tempfile.TemporaryDirectory(prefix="fsshim-test.", ignore_cleanup_errors=True) as scratch:
    os.chdir(scratch)
    one_screen()
    hostile_names()
    live()
    long_operations()
    by_pipe()
    terminal()
    endings()
    os.chdir("/")
sys.exit(1 if failed else 0)
