#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench postmark, bonnie, lantest and nhfsstone by forked ranks: what all did is what as many copies, or one process, would have done; a line for
each rank; one start; ranks that are killed, stopped, interrupted; what can't be."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, case, failed, on_servers, run, scratch, targets_of_server  # noqa: E402
from ranks import descendants, gone  # noqa: E402

HOST = os.uname().nodename
BONNIE = ["bonnie", "-d", "d", "-r", "0", "-u", "0", "-m", "x", "-z", "7"]


def config(name="p.pm", where="d", transactions=300, more=""):
    with open(name, "w", encoding="ascii") as file:
        file.write(f"set number 60\nset transactions {transactions}\nset location {where}\nset subdirectories 3\n{more}run\nquit\n")
    return name


def lines_of_ranks(text, ranks):
    return [int(n) for n in re.findall(rf"^ *(\d+)  {HOST} +\d+\.\d{{3}}  ", text, re.M)] == list(range(ranks))


def counts(text):
    return re.findall(r"^\t+(?:Creation alone: |Mixed with transactions: )?(\d+ \w+) \(", text, re.M) + re.findall(r"^\t(\S+ \w+ (?:read|written))", text, re.M)


def postmark():
    one = run(FSBENCH, "postmark", "--streams", "4", config())
    several = run(FSBENCH, "postmark", "--ranks", "4", "p.pm")
    case("postmark: four ranks do what four copies do", one.returncode == several.returncode == 0 and len(counts(one.stdout)) == 9
         and counts(one.stdout) == counts(several.stdout), (counts(one.stdout), several))
    case("postmark: one transcript, a line for each rank", several.stdout.count("Creating files...Done") == 1 and lines_of_ranks(several.stdout, 4), several)
    both = run(FSBENCH, "postmark", "--ranks", "2", "--streams", "2", "--detail", "p.pm")
    case("postmark: ranks of two copies", counts(one.stdout) == counts(both.stdout) and "Latency in microseconds" in both.stdout, both)
    done = run(FSBENCH, "postmark", "--ranks", "2", "--json", "p.pm")
    result = json.loads(done.stdout or '{"ranks": [], "rows": []}')
    rows = [rank["rows"][0]["rate"] for rank in result["ranks"]]
    case("postmark: rates are those of all by the slowest one's time", len(rows) == 2 and abs(result["rows"][0]["rate"] - 2 * min(rows)) < 1, result)
    config("several.pm")
    with open("several.pm", "r+", encoding="ascii") as file:
        text = file.read().replace("quit", "set number 5\nset transactions 20\nset report terse\nrun terse.txt\nset location nowhere\nrun\nquit")
        file.seek(0)
        file.write(text)
    done = run(FSBENCH, "postmark", "--ranks", "3", "several.pm")
    case("postmark: each run of a file of commands, by all", done.returncode == 1 and done.stdout.count("Deleting files...Done") == 2
         and done.stderr == f"Error: rank 0 ({HOST}): nowhere: No such file or directory\n" and lines_of_ranks(open("terse.txt", encoding="ascii").read(), 3), done)
    with open("later.pm", "w", encoding="ascii") as file:
        file.write("set number 20\nset transactions 30\nset location nowhere\nrun\nset location d\nset number 1000000000\nrun\nset number 20\nrun\nquit\n")
    done = run(FSBENCH, "postmark", "--ranks", "2", "later.pm")
    case("postmark: runs that can't start end no rank, the next is made by all", done.returncode == 1 and lines_of_ranks(done.stdout, 2)
         and done.stderr.startswith(f"Error: rank 0 ({HOST}): nowhere: No such file or directory\nError: rank 0 ({HOST}): set number 1000000000: needs ")
         and done.stderr.count("\n") == 2, done)
    case("postmark: nothing is left", not os.listdir("d"), os.listdir("d"))


def bonnie():
    small = ["-s", "2", "-n", "1:512:128:2", "-f"]
    done = run(FSBENCH, *BONNIE, *small, "-q", "--ranks", "3", "--json")
    result = json.loads(done.stdout or '{"ranks": [], "rows": []}')
    names = [row["name"] for row in result["rows"]]
    case("bonnie: all tests of three copies", done.returncode == 0 and len(names) == 10 and not done.stderr.replace("Using uid:0, gid:0.\n", ""), done)
    together = [(row["rate"], [r["rate"] for rank in result["ranks"] for r in rank["rows"] if r["name"] == row["name"]]) for row in result["rows"]]
    case("bonnie: rates are those of all by the slowest one's time", len(result["ranks"]) == 3
         and all(len(each) == 3 and abs(rate / 3 / min(each) - 1) < 1e-6 for rate, each in together), together)
    done = run(FSBENCH, *BONNIE, *small, "--ranks", "2")
    csv = done.stdout.splitlines()[-1] if done.stdout else ""
    case("bonnie: a table, a line for each rank, CSV with the number of copies", csv.startswith("1.98,2.00a,x,2,7,2M,") and lines_of_ranks(done.stdout, 2)
         and done.stderr.count("Rewriting...done") == 1, done)
    done = run(FSBENCH, *BONNIE, *small, "-q", "--ranks", "2", "-x", "2")
    case("bonnie: rounds", done.returncode == 0 and [line[:13] for line in done.stdout.splitlines()[1:]] == ["1.98,2.00a,x,"] * 2, done)
    case("bonnie: nothing is left", not os.listdir("d"), os.listdir("d"))


def nhfsstone():
    options = ["-l", "3000", "-c", "1500", "-p", "8", "--json"]
    os.mkdir("one")
    os.mkdir("several")
    one, several = run(FSBENCH, "nhfsstone", *options, "one"), run(FSBENCH, "nhfsstone", *options, "--ranks", "3", "several")
    case("nhfsstone: the same directories", one.returncode == several.returncode == 0 and sorted(os.listdir("one")) == sorted(os.listdir("several")), (one, several))
    ranks = json.loads(several.stdout or '{"ranks": []}')["ranks"]
    case("nhfsstone: calls are dealt with the streams", [(r["streams"], r["issued"]) for r in ranks] == [(3, 563), (3, 562), (2, 375)], ranks)
    done = run(FSBENCH, "nhfsstone", "-v", "-l", "3000", "-c", "1500", "-p", "8", "--ranks", "2", "one", "several")
    case("nhfsstone: two directories, a line for each rank on each, the original's at the end", done.returncode == 0
         and len(re.findall(rf"^rank [01] .* calls, 0 failed, .*{HOST}$", done.stdout, re.M)) == 4
         and re.fullmatch(r"\d+ sec 1500 calls \S+ calls/sec \S+ msec/call", done.stdout.splitlines()[-1]), done)


def lantest(target, name="lantest"):
    done = run(FSBENCH, "lantest", "--percent", "1", "-n", "1", "--ranks", "3", "--json", target)
    result = json.loads(done.stdout or "{}")
    one = json.loads(run(FSBENCH, "lantest", "--percent", "1", "-n", "1", "--sessions", "3", "--json", target).stdout or "{}")
    case(f"{name}: ranks make what as many sessions make", done.returncode == 0 and not done.stderr and counted(result) == counted(one) != [], (done, one))
    done = run(FSBENCH, "lantest", "--percent", "1", "-n", "1", "--ranks", "2", "-f", "25", target)
    case(f"{name}: one text, that of the first session", done.returncode == 0 and "Session 1: " in done.stdout and "Session 2: " not in done.stdout
         and not done.stderr, done)


def counted(value):
    """Numbers that are counts, wherever they are in a document of lantest."""
    if isinstance(value, dict):
        return [f"{key}={number}" for key, number in sorted(value.items()) if key in ("count", "operations", "session", "sessions") and isinstance(number, int)] \
            + [line for key in sorted(value) for line in counted(value[key])]
    return [line for entry in value for line in counted(entry)] if isinstance(value, list) else []


def start(*command):
    """A run that has begun its work, and its other processes."""
    run_ = subprocess.Popen([FSBENCH, *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(200):
        others = descendants(run_.pid, "fsbench")
        if len(others) == 2 and len([name for name in os.listdir("d")]) >= 3:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    return run_, others


def interrupted():
    for name, words, said in (("postmark", ["postmark", config("long.pm", transactions=10**8, more="set bias create -1\n")], "fsbench postmark: interrupted\n"),
                              ("bonnie", [*BONNIE, "-s", "0", "-n", "400"], "fsbench bonnie: interrupted\n"),
                              ("lantest", ["lantest", "-n", "200", "-f", "5", "d"], "fsbench lantest: interrupted\n"),
                              ("nhfsstone", ["nhfsstone", "-l", "100", "-c", "100000", "-p", "3", "d"], "fsbench nhfsstone: interrupted\n")):
        run_, others = start(*words, "--ranks", "3")
        run_.send_signal(signal.SIGINT)
        out, err = run_.communicate(timeout=60)
        case(f"{name}, ^C: status 1 and a line", run_.returncode == 1 and err.endswith(said) and err.count("interrupted") == 1, (run_.returncode, err))
        case(f"{name}, ^C: neither files nor processes are left", gone(others) and (name == "nhfsstone" or not os.listdir("d")), os.listdir("d"))
        subprocess.run("rm -rf d/*", shell=True, check=True)
        run_, others = start(*words, "--ranks", "3", "--patience", "3s")
        os.kill(others[1], signal.SIGKILL)
        if name != "bonnie":  # which notices when the others wait for it
            time.sleep(0.5)
            run_.send_signal(signal.SIGINT)
        out, err = run_.communicate(timeout=60)
        out = out[-1000:]
        case(f"{name}, a rank is killed: named, the others' results are told", run_.returncode == 1 and f"rank 2 ({HOST}) has ended" in err
             and re.search(r"of [12] of 3 ranks", err), (run_.returncode, out, err))
        case(f"{name}, a rank is killed: the others end", gone(others), others)
        subprocess.run("rm -rf d/*", shell=True, check=True)


def stopped_alone():
    """One rank of lantest gets a signal: its session is not complete, whatever the root knows of the signal."""
    run_, others = start("lantest", "-n", "200", "-f", "5", "d", "--ranks", "3")
    os.kill(others[1], signal.SIGTERM)
    time.sleep(0.5)
    run_.send_signal(signal.SIGINT)
    out, err = run_.communicate(timeout=60)
    case("lantest, a rank is stopped alone: status 1, and no library's words", run_.returncode == 1 and "vector" not in err and "interrupted" in err,
         (run_.returncode, out[-300:], err))
    subprocess.run("rm -rf d/*", shell=True, check=True)
    run_, others = start("lantest", "-n", "30", "-f", "5", "d", "--ranks", "3")
    os.kill(others[1], signal.SIGTERM)
    out, err = run_.communicate(timeout=60)
    case("lantest, a rank is stopped alone: it is named and left out", run_.returncode == 1 and err.endswith("fsbench lantest: session 3: interrupted\n"),
         (run_.returncode, out[-300:], err))
    subprocess.run("rm -rf d/*", shell=True, check=True)


def refused():
    for name, words, line in (
            ("a missing directory", ["bonnie", "-d", "nowhere", "-u", "0", "--ranks", "2"], f"fsbench bonnie: rank 0 ({HOST}): nowhere: No such file"),
            ("a meeting of another kind", [*BONNIE, "-y", "s", "--ranks", "2"], "fsbench bonnie: -y: not possible with ranks, which wait for each other before each test anyway; leave -y out"),
            ("fewer processes than ranks", ["nhfsstone", "-p", "2", "--ranks", "3", "d"], f"fsbench nhfsstone: rank 0 ({HOST}): -p 2: expected at least 3 processes,"),
            ("no file of commands", ["postmark", "--ranks", "2"], "fsbench postmark: several ranks: expected CONFIG"),
            ("a missing file of commands", ["postmark", "--ranks", "2", "nowhere"], "fsbench postmark: nowhere: No such file")):
        done = run(FSBENCH, *words)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.splitlines()[-1].startswith(line), done)


def on_server():
    for name, url, directory in targets_of_server():
        done = run(FSBENCH, "postmark", "--ranks", "2", "--json", config(where=url), timeout=100)
        case(f"{name}: postmark", done.returncode == 0 and len(json.loads(done.stdout)["ranks"]) == 2, done)
        done = run(FSBENCH, "bonnie", "-d", url, "-r", "0", "-u", "0", "-s", "1", "-n", "0", "-f", "-q", "--ranks", "2", "--json")
        case(f"{name}: bonnie", done.returncode == 0 and len(json.loads(done.stdout)["ranks"]) == 2, done)
        if name == "AFP":
            lantest(url, "AFP: lantest")
        left = [entry for entry in os.listdir(directory) if re.match("copy|Bonnie|LanTest", entry)]
        case(f"{name}: nothing is left", not left, left)


def main():
    if sys.argv[1:2] == ["--on-server"]:
        with scratch():
            on_server()
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True):
        os.mkdir("d")
        postmark()
        bonnie()
        nhfsstone()
        lantest("d")
        interrupted()
        stopped_alone()
        refused()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
