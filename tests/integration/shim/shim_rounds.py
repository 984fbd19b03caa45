#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LMDB and git at work on one directory from outside a capture and beneath it at once, while captures start and end: every record and
every commit is there afterwards, and both call their files sound. usage: shim_rounds.py [ROUNDS [KIND...]]; by default few rounds
on tmpfs and ext4."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.append("/usr/lib/python3/dist-packages")  # where Debian puts lmdb, whatever python3 is first in PATH
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import lmdb  # noqa: E402
from captures import Capture  # noqa: E402
from lower_fs import Cases, Scratch, run  # noqa: E402

RECORDS = 50  # of LMDB for each turn
COMMITS = 2  # of git for each turn
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def lmdb_turns(path, who):
    """For each line on standard input puts records, each in a transaction of its own, and says how many."""
    environment = lmdb.open(path, map_size=64 << 20, sync=False)
    done = 0
    for _ in sys.stdin:
        for _ in range(RECORDS):
            with environment.begin(write=True) as transaction:
                transaction.put(f"{who} {done}".encode(), os.urandom(200))
            done += 1
        print(RECORDS, flush=True)


def git_turns(path, who):
    """For each line on standard input makes commits with a reference each, packs what there is, and says how many."""
    os.environ.update(WHO | {"GIT_DIR": path})  # a working directory below the capture has no path once that is unmounted
    tree = run("git", "mktree", input="").strip()
    done = 0
    for _ in sys.stdin:
        for _ in range(COMMITS):
            commit = run("git", "commit-tree", tree, "-m", f"{who} {done}").strip()
            run("git", "update-ref", f"refs/heads/{who}-{done}", commit)
            done += 1
        if who == "beneath":
            run("git", "repack", "-q", "-a")
        print(COMMITS, flush=True)


class Worker:
    def __init__(self, what, path, who):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--work", what, path, who], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def done(self):
        return int(self.process.stdout.readline() or 0)

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


def turn(workers):
    for worker in workers:
        worker.begin()
    return sum(worker.done() for worker in workers)


def lmdb_found(path):
    """How many records there are, read one by one."""
    with lmdb.open(path, map_size=64 << 20) as environment, environment.begin() as transaction:
        return sum(len(value) == 200 for _, value in transaction.cursor())


def git_found(path):
    run("git", "-C", path, "fsck", "--full", "--strict")
    return len(run("git", "-C", path, "for-each-ref").splitlines())


def one_round(scratch, directory, behind, number):
    """Empty, or what went wrong."""
    os.mkdir(f"{directory}/lmdb")
    run("git", "init", "-q", "--bare", f"{directory}/git")

    def start(where, who):
        return [Worker("lmdb", f"{where}/lmdb", who), Worker("git", f"{where}/git", who)]

    workers = start(directory, "before") + start(behind, "beside")
    good = turn(workers)
    capture = Capture(directory, f"{scratch.path}/{number}.zst")
    workers += start(directory, "beneath")
    good += turn(workers)
    capture.process.terminate()
    workers += start(directory, "after")
    good += turn(workers)
    ends = {worker.end() for worker in workers}
    status = capture.end()
    found = lmdb_found(f"{behind}/lmdb") + git_found(f"{behind}/git")
    run("rm", "-r", f"{behind}/lmdb", f"{behind}/git", f"{scratch.path}/{number}.zst", f"{scratch.path}/{number}.mix")
    expected = 9 * (RECORDS + COMMITS)
    return "" if (good, found, ends, status) == (expected, expected, {0}, 0) else f"{good} said, {found} found, {ends}, {status}"


def main(rounds, kinds):
    cases = Cases()
    with Scratch() as scratch:
        for kind in kinds:
            directory, behind = scratch.mount(kind, size="512M"), f"{scratch.path}/behind-{kind}"
            os.mkdir(behind)
            run("mount", "--bind", directory, behind)
            run("mount", "--make-private", behind)
            wrong = []
            for number in range(rounds):
                try:
                    wrong += filter(None, [one_round(scratch, directory, behind, number)])
                except (RuntimeError, lmdb.Error) as e:
                    wrong.append(e)
                if wrong:
                    break
            cases.case(f"{kind}: LMDB and git outside and beneath, {rounds} rounds over a start and an end", not wrong, wrong)
            run("umount", behind)
    return cases.status()


if sys.argv[1:2] == ["--work"]:
    {"lmdb": lmdb_turns, "git": git_turns}[sys.argv[2]](*sys.argv[3:5])
else:
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2, sys.argv[2:] or ["tmpfs", "ext4"]))
