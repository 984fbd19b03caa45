#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks on four hosts, which are network and UTS namespaces, that mpirun starts by an agent, and an NFS server on a fifth: a mix, NFSTEST, PostMark;
a host that is told otherwise, or has another version; ranks that are killed, stopped or cut off."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from hosts import NAMES, SERVER, Hosts  # noqa: E402
from older_tools import BUILD, FSBENCH, SERVERS, case, failed, run, scratch  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay/fsreplay")
MODULE = "fsr-mpi-openmpi.so"
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "LD_LIBRARY_PATH": os.path.join(BUILD, "replay/cluster")}


def ours(text):
    """Without the launcher's own lines."""
    return [line for line in text.splitlines() if line.startswith("fs")]


def whole(hosts, url):
    done = run(*hosts.mpirun(FSREPLAY, "mix:sfs97-v3", "-q", "--streams", "8", "--calls", "2003", "--json", url), env=ENV)
    result = json.loads(done.stdout or '{"ranks": []}')
    rows = [(row["host"], row["issued"]) for row in result["ranks"]]
    case("a mix by four hosts: every call made once", done.returncode == 0 and rows == list(zip(NAMES, (501, 501, 501, 500)))
         and result["issued"] == result["matched"] == 2003, (rows, done.stderr))
    case("a mix by four hosts: the requests of all are counted", rows and abs(result["mix"]["wire_calls"] - 2003) < 150, rows and result["mix"])
    done = run(*hosts.mpirun(FSBENCH, "nfstest", "c1", "m64", "M256", "K4", "--json", "f" + url), env=ENV)
    result = json.loads(done.stdout or '{"stages": []}')
    case("NFSTEST by four hosts: all bytes, as they were written", done.returncode == 0 and result["hosts"] == NAMES and result["wrong_bytes"] == 0
         and [sum(rank["bytes"] for rank in stage["ranks"]) for stage in result["stages"]] == [2**20] * 2 + [2**22] * 2, done)


def copies(hosts, url):
    with open("p.pm", "w", encoding="ascii") as file:
        file.write("set number 50\nset transactions 50\nrun\nquit\n")
    done = run(*hosts.mpirun(FSBENCH, "postmark", "--json", "--location", url, "p.pm"), env=ENV)
    ranks = json.loads(done.stdout or '{"ranks": []}')["ranks"]
    case("PostMark by four hosts: a copy on each", done.returncode == 0 and [rank["host"] for rank in ranks] == NAMES and not ours(done.stderr), done)


def other_version(program, folder):
    """A copy that takes itself for another version."""
    with open(program, "rb") as file:
        text = file.read()
    with open(os.path.join(folder, os.path.basename(program)), "wb") as file:
        file.write(text.replace(b"0.1.0", b"0.1.9"))
    os.chmod(file.name, 0o755)


def told_otherwise(hosts, url):
    for folder in ("other", "program"):
        os.mkdir(folder)
        other_version(FSBENCH, folder)
    other_version(os.path.join(BUILD, "replay/cluster", MODULE), "other")
    here = os.getcwd()
    for name, on_h3, line in (
            ("another version", f"LD_LIBRARY_PATH={here}/other; program={here}/other/fsbench",
             r"rank 2 \(h3\) has version 0\.1\.9, words (.*), but rank 0 \(h1\) has version 0\.1\.0, words \1; start all ranks"),
            ("a module of another version", f"program={here}/program/fsbench",
             r"rank 2 \(h3\): started as 4 ranks by a launcher of openmpi, but the module for this MPI has version 0\.1\.0, not 0\.1\.9"),
            ("another URL", f'url="{url.replace("/vfs", "/elsewhere")}"', r"rank 2 \(h3\) has version .*/elsewhere.*, but rank 0 \(h1\) has version .*/vfs.*")):
        script = f'url="{url}"; program={FSBENCH}; [ "$(hostname)" != h3 ] || {{ {on_h3}; }}; exec "$program" nfstest m4 "f$url"'
        done = run(*hosts.mpirun("sh", "-c", script), env=ENV)
        lines = ours(done.stderr)
        case(f"{name} on a host: named, no result", done.returncode != 0 and len(lines) == 1 and re.match("fsbench nfstest: " + line, lines[0])
             and not done.stdout, done)


def content(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


def wait_until(true):
    for _ in range(600):
        if true():
            return True
        time.sleep(0.1)
    return False


def lost(hosts, url, directory):
    for name, act in (("killed", lambda pid: os.kill(pid, signal.SIGKILL)), ("stopped", lambda pid: os.kill(pid, signal.SIGSTOP)),
                      ("cut off with its host", lambda _: hosts.link("h3", "down"))):
        command = hosts.mpirun("--enable-recovery", FSBENCH, "nfstest", "--patience", "4s", "m64", "R1000000", "f" + url)
        with open("out", "w", encoding="utf-8") as out, open("err", "w", encoding="utf-8") as err, \
                subprocess.Popen(command, env=ENV, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as run_:
            wait_until(lambda: content("out").count("---") >= 4)
            act(hosts.processes("h3", "fsbench")[0])
            # The launcher itself may wait for a host that is cut off until that is back.
            ended = wait_until(lambda: not any(hosts.processes(host, "fsbench") for host in NAMES if host != "h3"))
            hosts.link("h3", "up")
            run_.wait(timeout=60)
        line = r"fsbench nfstest: rank 2 \(h3\) sent no heartbeat for \S+ s$"
        case(f"a rank that is {name}: named", any(re.match(line, told) for told in ours(content("err"))), content("err"))
        case(f"a rank that is {name}: what was measured is printed", content("out").count("--- Best") == 2, content("out")[-300:])
        ended = ended and wait_until(lambda: not any(hosts.processes(host, "fsbench") for host in NAMES))
        case(f"a rank that is {name}: no process is left", ended)
        files = [entry for entry in os.listdir(directory) if entry.startswith("nfstest")]
        # What was on its way when the link went down arrives when it is back: the launcher may have ended the rank by then.
        on_its_way = 1 if name.startswith("cut off") else 0
        case(f"a rank that is {name}: no file is left", len(files) <= on_its_way, files)
        for file in files:
            os.unlink(os.path.join(directory, file))


def on_hosts():
    hosts = Hosts()
    try:
        url = os.environ["NFS_VFS_URL"].replace("127.0.0.1", SERVER)
        whole(hosts, url)
        copies(hosts, url)
        told_otherwise(hosts, url)
        lost(hosts, url, os.environ["NFS_VFS_DIR"])
    finally:
        hosts.end()
    sys.exit(1 if failed else 0)


def main():
    if sys.argv[1:] == ["--on-hosts"]:
        on_hosts()
    with scratch(in_memory=True) as place:
        os.mkdir("tmp")
        done = subprocess.run([f"{SERVERS}/ganesha", sys.executable, os.path.abspath(__file__), "--on-hosts"], check=False, timeout=280,
                              env={**ENV, "TMPDIR": os.path.join(place, "tmp")})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
