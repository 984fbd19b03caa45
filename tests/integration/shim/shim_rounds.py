#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LMDB, SQLite (with a write-ahead log and with a rollback journal), git and a database that uses O_DIRECT at work on one directory from
outside a capture and beneath it at once, while captures start and end: every record and every commit is there afterwards, and all call
their files sound. usage: shim_rounds.py [--programs A,B] [ROUNDS [KIND...]]; by default all of them, few rounds on tmpfs
and ext4. Before Linux 6.9, lmdb and sqlite-wal do not work beneath and outside at once."""
import fcntl
import mmap
import multiprocessing
import os
import sqlite3
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.append("/usr/lib/python3/dist-packages")  # where Debian puts lmdb, whatever python3 is first in PATH
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import captures  # noqa: E402
import lmdb  # noqa: E402
from lower_fs import Cases, Scratch, run  # noqa: E402

PAGE = 4096
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


class Lmdb:
    """Puts records, each in a transaction of its own."""
    each_turn = 50
    make = os.mkdir

    def __init__(self, path, who):
        self.environment, self.who = lmdb.open(path, map_size=64 << 20, sync=False), who

    def add(self, number):
        with self.environment.begin(write=True) as transaction:
            transaction.put(f"{self.who} {number}".encode(), os.urandom(200))

    @staticmethod
    def found(path):
        with lmdb.open(path, map_size=64 << 20) as environment, environment.begin() as transaction:
            return sum(len(value) == 200 for _, value in transaction.cursor())


class Sqlite:
    """Inserts rows, each in a transaction of its own."""
    each_turn = 20
    mode = "wal"

    def __init__(self, path, who):
        self.connection, self.who = sqlite3.connect(path, timeout=60, isolation_level=None), who
        self.connection.execute("pragma synchronous=off")

    @classmethod
    def make(cls, path):
        connection = sqlite3.connect(path)
        connection.execute(f"pragma journal_mode={cls.mode}")
        connection.execute("create table t (who text, number integer, bytes blob)")
        connection.commit()
        connection.close()

    def add(self, number):
        self.connection.execute("insert into t values (?, ?, ?)", (self.who, number, os.urandom(200)))

    @staticmethod
    def found(path):
        connection = sqlite3.connect(path)
        try:
            if (verdict := connection.execute("pragma integrity_check").fetchone()[0]) != "ok":
                raise RuntimeError(f"{path}: {verdict}")
            return connection.execute("select count(distinct who || number) from t where length(bytes) = 200").fetchone()[0]
        finally:
            connection.close()


class SqliteJournal(Sqlite):
    """The same with a rollback journal."""
    mode = "delete"


class Direct:
    """Writes pages with O_DIRECT, under a lock: a record, then the first page, which counts the records."""
    each_turn = 50

    def __init__(self, path, who):
        self.fd, self.who, self.page = os.open(path, os.O_RDWR | os.O_DIRECT), who, mmap.mmap(-1, PAGE)

    @staticmethod
    def make(path):
        with open(path, "wb") as file:
            file.write(bytes(PAGE))

    def write(self, text, at):
        self.page[:] = text.ljust(PAGE - 4, b"\0") + zlib.crc32(text).to_bytes(4, "little")
        if os.pwritev(self.fd, [self.page], at) != PAGE:
            raise RuntimeError("a page was written in part")

    def add(self, number):
        fcntl.lockf(self.fd, fcntl.LOCK_EX)
        os.preadv(self.fd, [self.page], 0)
        count = int(self.page[:20].rstrip(b"\0") or b"0") + 1
        self.write(f"{self.who} {number}".encode(), count * PAGE)
        self.write(str(count).encode(), 0)
        fcntl.lockf(self.fd, fcntl.LOCK_UN)

    @staticmethod
    def found(path):
        with open(path, "rb") as file:
            pages = [file.read(PAGE) for _ in range(os.path.getsize(path) // PAGE)]
        texts = [page[:-4].rstrip(b"\0") for page in pages]
        if any(zlib.crc32(text).to_bytes(4, "little") != page[-4:] for text, page in zip(texts, pages)):
            raise RuntimeError(f"{path}: a page is torn")
        return min(int(texts[0]), len(set(texts[1:])))


class Git:
    """Makes commits with a reference each. Beneath the capture it packs, too."""
    each_turn = 2

    def __init__(self, path, who):
        os.environ.update(WHO | {"GIT_DIR": path})  # a working directory below the capture has no path once that is unmounted
        self.tree, self.who = run("git", "mktree", input="").strip(), who

    @staticmethod
    def make(path):
        run("git", "init", "-q", "--bare", path)

    def add(self, number):
        commit = run("git", "commit-tree", self.tree, "-m", f"{self.who} {number}").strip()
        run("git", "update-ref", f"refs/heads/{self.who}-{number}", commit)
        if self.who == "beneath" and number % self.each_turn == 1:
            run("git", "repack", "-q", "-a")

    @staticmethod
    def found(path):
        run("git", "-C", path, "fsck", "--full", "--strict")
        return len(run("git", "-C", path, "for-each-ref").splitlines())


PROGRAMS = {"lmdb": Lmdb, "sqlite-wal": Sqlite, "sqlite-journal": SqliteJournal, "direct": Direct, "git": Git}


def work(orders, what, path, who):
    """Adds records for each order, and says how many."""
    program = PROGRAMS[what](path, who)
    done = 0
    while orders.recv():
        for number in range(done, done + program.each_turn):
            program.add(number)
        done += program.each_turn
        orders.send(program.each_turn)


class Worker:
    def __init__(self, what, path, who):
        self.orders, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=work, args=(theirs, what, path, who), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self):
        self.orders.send(True)

    def done(self):
        try:
            return self.orders.recv()
        except EOFError:  # it died, and has said why
            return 0

    def end(self):
        self.orders.send(False)
        self.process.join()
        return self.process.exitcode


def turn(workers):
    for worker in workers:
        worker.begin()
    return sum(worker.done() for worker in workers)


def one_round(scratch, directory, behind, number):
    """Empty, or what went wrong."""
    for name, program in PROGRAMS.items():
        program.make(f"{directory}/{name}")

    def start(where, who):
        return [Worker(name, f"{where}/{name}", who) for name in PROGRAMS]

    workers = start(directory, "before") + start(behind, "beside")
    good = turn(workers)
    capture = captures.Capture(directory, f"{scratch.path}/{number}.zst")
    workers += start(directory, "beneath")
    good += turn(workers)
    capture.process.terminate()
    workers += start(directory, "after")
    good += turn(workers)
    ends = {worker.end() for worker in workers}
    status = capture.end()
    found = {name: program.found(f"{behind}/{name}") for name, program in PROGRAMS.items()}
    run("rm", "-r", *(f"{behind}/{name}" for name in os.listdir(behind)), f"{scratch.path}/{number}.zst", f"{scratch.path}/{number}.mix")
    expected = {name: 9 * program.each_turn for name, program in PROGRAMS.items()}
    fine = (good, found, ends, status) == (sum(expected.values()), expected, {0}, 0)
    return "" if fine else f"{good} of {sum(expected.values())} said, {found} found of {expected}, {ends}, {status}"


def main(rounds, kinds):
    cases = Cases()
    captures.PATIENCE = 120  # long runs leave the processors to others
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
                except (RuntimeError, sqlite3.Error, lmdb.Error) as e:
                    wrong.append(e)
                if wrong:
                    break
            cases.case(f"{kind}: databases and git outside and beneath, {rounds} rounds over a start and an end", not wrong, wrong)
            run("umount", behind)
    return cases.status()


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    words = sys.argv[1:]
    if words[:1] == ["--programs"]:
        PROGRAMS = {name: PROGRAMS[name] for name in words[1].split(",")}
        words = words[2:]
    sys.exit(main(int(words[0]) if words else 2, words[1:] or ["tmpfs", "ext4"]))
