#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one build directory and counts real cases.

usage: tests/run.py BUILD [--suite NAME]... [--not-suite NAME]... [--filter CATCH] [--tally FILE] [--jobs N]
                          [--write-times] [NAME...]

Tests are the ones that meson knows (meson introspect --tests). Those of suite "unit" are Catch2 programs and each of their test
cases counts; every other test is a program that prints one line per case, "ok - name" or "not ok - name: why", and exits with 1
when a case failed. A test counts as one failed case more when it reports nothing, dies, runs into its time limit, leaves a mount
behind or makes a sanitizer speak. Output of each test is kept in BUILD/test-logs. The line of each tells how long it took, and how
much time of processors (without that of daemons).

Tests run side by side, the longest first, so that none is left over at the end: tests/times.txt says how long each took once, and
in which build it takes another time. Each has its own directories, servers and network namespace, and most of them wait more than they
compute: more start while the processors have time left (Places). Those of suite "alone" measure time or change the machine; they run
one by one at the end.
Each has a mount namespace of its own too: a test that makes one would copy the mounts of all others, and keep their captures alive.

A script that failed is run twice more at the end, with the machine to itself. Only when it holds both times is it named UNSTEADY
instead of failed: the machine's other work disturbed it. Its first output is kept in BUILD/test-logs as NAME.first.log. What a
sanitizer reported and mounts left behind stay failures, and so does what there is no time left to repeat (REPEAT_TIME). Where more
than three scripts failed, only those are run again that were disturbed: the machine stood still meanwhile, or its host took the
processors away. MachineWatch notices that, or a program of ours says it in the script's output.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
from machine_watch import MachineWatch  # noqa: E402
from places import Places  # noqa: E402

libc = ctypes.CDLL(None, use_errno=True)


MOST_UNSTEADY = 3
REPEAT_TIME = 720  # s for all repetitions: one script that hangs must not make a run last for hours
CLEANUP_TIME = 15  # s in which an interrupted test must have ended
DISTURBED = re.compile(r"stood still for|time away \(steal\)")  # measure/stood_still.hpp
HERE = os.path.dirname(os.path.abspath(__file__))
SUPPRESSIONS = os.path.join(HERE, "ubsan.supp")
TIMES = os.path.join(HERE, "times.txt")


def begin_test():
    """In a test's process before it begins. What it mounts, and what others mount from now on, concerns nobody else. A shell that
    starts this program in the background leaves it deaf to SIGINT; what a test interrupts must not inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if os.geteuid() != 0:
        return
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 1 << 18
    if libc.unshare(clone_newns) != 0 or libc.mount(None, b"/", None, ms_rec | ms_private, None) != 0:
        raise OSError(ctypes.get_errno(), "a mount namespace")


class MountNamespace:
    """That of a process, kept until close() so that one can see what is left there."""

    def __init__(self, pid):
        try:
            self.fd = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it has ended
            self.fd = None

    def run(self, *command):
        return subprocess.run(["nsenter", f"--mount=/proc/{os.getpid()}/fd/{self.fd}", *command], check=False, capture_output=True,
                              text=True, errors="replace").stdout

    def mounts_below(self, directory):
        if self.fd is None:
            return []
        points = [line.split()[1] for line in self.run("cat", "/proc/self/mounts").splitlines()]
        return [point for point in points if point.startswith(directory + "/")]

    def close(self):
        if self.fd is not None:
            os.close(self.fd)


def stacks_of(session):
    """Where each thread of a session's processes waits in the kernel. By another program, which is ended if it hangs: a read about a
    process may wait for that process."""
    script = """for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue
        set -- "$1" ${line##*)}
        [ "$5" = "$1" ] || continue
        for task in "${stat%stat}"task/*; do
            echo "$task ($(cat "$task/comm")) $2"
            sed 's/^/    /' "$task/stack"
        done
    done 2>/dev/null"""
    try:
        return subprocess.run(["sh", "-c", script, "sh", str(session)], check=False, capture_output=True, text=True,
                              errors="replace", timeout=10).stdout
    except subprocess.TimeoutExpired as expired:
        return (expired.stdout or b"").decode(errors="replace") + "no more: a read of /proc hangs\n"


def signal_session(session, number):
    """Signals each process of a session. Not only a process group: timeout(1) makes one of its own."""
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        try:
            if os.getsid(pid) == session:
                os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def ends_within(pid, seconds):
    """Whether a child ends in time. It is left to be waited for, so that its processor time can be read and its id is no other's."""
    deadline = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
    return True


def processor_time(pid):
    """Seconds that a process took, and all that it and its children waited for (proc_pid_stat(5)): no daemon."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def suites_of(test):
    return {suite.split(":")[-1] for suite in test["suite"]}


class TestRun:
    """One test: its counts, and the lines that tell of its failures."""
    sessions = set()  # of the tests that are running, each by its first process
    stopped = False  # no test may start any more
    starting = threading.Lock()  # protects both

    def __init__(self, test, build, catch_filter, machine):
        self.test, self.name = test, test["name"]
        self.build = build
        self.machine = machine
        self.catch_filter = catch_filter
        self.logs = os.path.join(build, "test-logs")
        self.passed = 0
        self.failed = 0
        self.seconds = None  # how long it took; None: it has not ended
        self.processors = 0.0  # seconds of processors that it took
        self.steady = "unit" in suites_of(test) or "static" in suites_of(test)  # what fails once fails always
        self.disturbed = False  # the test failed while the machine did not run as it should
        self.lines = []

    def case_failed(self, what):
        self.failed += 1
        self.lines.append(f"FAILED {self.name}: {what}")

    def run_logged(self, command, pass_fds=()):
        """Exit status (None: time limit) and output of one test, its whole session ended."""
        env = os.environ | self.test["env"]
        speech = os.path.join(self.logs, f"{self.name}.sanitizer")
        for old in glob.glob(speech + ".*"):
            os.unlink(old)
        env["ASAN_OPTIONS"] = f"detect_stack_use_after_return=0:log_path={speech}"
        env["UBSAN_OPTIONS"] = f"halt_on_error=1:print_stacktrace=1:log_path={speech}:suppressions={SUPPRESSIONS}"
        env["TSAN_OPTIONS"] = f"halt_on_error=1:log_path={speech}"
        env["LSAN_OPTIONS"] = f"log_path={speech}"
        scratch = tempfile.mkdtemp(prefix="fsshim-run.")
        os.chmod(scratch, 0o755)
        env["TMPDIR"] = scratch
        log = os.path.join(self.logs, f"{self.name}.log")
        with open(log, "wb") as out:
            with TestRun.starting:
                if TestRun.stopped:
                    raise InterruptedError("the tests were stopped")
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                                         cwd=self.test["workdir"] or self.build, start_new_session=True, pass_fds=pass_fds,
                                         preexec_fn=begin_test)
                TestRun.sessions.add(child.pid)
            namespace = MountNamespace(child.pid)
            in_time = ends_within(child.pid, self.test["timeout"])
            if not in_time:
                out.write(f"\nstacks at the time limit:\n{stacks_of(child.pid)}".encode())
                out.flush()
                signal_session(child.pid, signal.SIGTERM)  # lets a script clean up
                ends_within(child.pid, CLEANUP_TIME)
            signal_session(child.pid, signal.SIGKILL)
            ends_within(child.pid, float("inf"))
            self.processors = processor_time(child.pid)
            status = child.wait()
            with TestRun.starting:
                TestRun.sessions.discard(child.pid)
        for left in reversed(namespace.mounts_below(scratch)):
            self.steady = True
            self.case_failed(f"left {left} mounted")
            namespace.run("umount", "-l", left)
        namespace.close()
        shutil.rmtree(scratch, ignore_errors=True)
        for report in sorted(glob.glob(speech + ".*")):
            self.steady = True
            with open(report, encoding="utf-8", errors="replace") as text:
                self.case_failed("a sanitizer reported\n" + text.read()[:6000])
        with open(log, encoding="utf-8", errors="replace") as text:
            return status if in_time else None, text.read()

    def run_unit(self):
        # A pipe, because test cases about full disks limit the size of every file that their process writes.
        receiver, sender = os.pipe()
        command = self.test["cmd"] + ["-r", "xml", "-o", f"/dev/fd/{sender}"]
        if self.catch_filter:
            command.append(self.catch_filter)
        report = []
        with open(receiver, "rb") as stream:
            reader = threading.Thread(target=lambda: report.append(stream.read()))
            reader.start()
            try:
                status, output = self.run_logged(command, (sender,))
            finally:
                os.close(sender)  # else the reader waits for ever where the program could not be started
                reader.join()
        passed = failed = 0
        try:
            cases = xml.fromstring(report[0]).findall(".//TestCase")
        except xml.ParseError as error:
            cases = []
            output += f"\nits report is broken off: {error}"
        for case in cases:
            if case.find("OverallResult").get("success") == "true":
                passed += 1
                continue
            failed += 1
            where = [f"{e.get('filename')}:{e.get('line')}: {(e.findtext('Original') or e.text or '').strip()}"
                     for e in case.iter() if e.tag in ("Expression", "Failure", "Exception") and e.get("success") != "true"]
            self.case_failed(f"{case.get('name')}\n    " + "\n    ".join(where[:5]))
        if not cases or (status != 0 and not failed):
            self.case_failed(f"ended with {status} after {passed} cases\n{output[-3000:]}")
        self.passed += passed

    def run_script(self):
        start = time.monotonic()
        status, output = self.run_logged(self.test["cmd"])
        passed = len(re.findall(r"^ok - ", output, re.M))
        bad = re.findall(r"^not ok - (.*)", output, re.M)
        for what in bad:
            self.case_failed(what)
        if status is None:
            self.case_failed(f"still running after {self.test['timeout']} s")
        elif status != 0 and not bad:
            self.case_failed(f"exit status {status} without a failed case")
        elif status == 0 and bad:
            self.case_failed("exit status 0 in spite of a failed case")
        elif status == 0 and not passed:
            self.case_failed("reported no case")
        if bad or status != 0:
            self.disturbed = self.machine.disturbed(start) or DISTURBED.search(output) is not None
            self.lines += ["    " + line for line in output.splitlines()[-60:]]
        self.passed += passed

    def again_alone(self, deadline):
        """Whether this script, which failed, holds twice in succession with nothing beside it, before a time of the monotonic clock."""
        if self.steady or time.monotonic() >= deadline:
            return False
        log = os.path.join(self.logs, f"{self.name}.log")
        os.replace(log, os.path.join(self.logs, f"{self.name}.first.log"))
        for _ in range(2):
            left = max(1, round(deadline - time.monotonic()))
            again = TestRun(self.test | {"timeout": min(self.test["timeout"], left)}, self.build, self.catch_filter, self.machine)
            again.run()
            if again.failed:
                return False
        self.passed, self.failed = again.passed, 0
        return True

    def run(self):
        start = time.monotonic()
        try:
            if "unit" in suites_of(self.test):
                self.run_unit()
            else:
                self.run_script()
        except Exception as error:
            self.case_failed(f"could not be run: {error!r}")
        self.seconds = time.monotonic() - start
        word = "FAILED" if self.failed else "ok    "
        self.lines.append(f"{word} {self.name}: {self.passed} passed, {self.failed} failed, {self.seconds:.1f} s, "
                          f"{self.processors:.1f} s of processors")
        print("\n".join(self.lines), flush=True)

    @classmethod
    def stop_all(cls):
        """Ends the running tests and all that they started."""
        with cls.starting:
            cls.stopped = True
        for number in (signal.SIGTERM, signal.SIGKILL):  # the first lets a script clean up
            with cls.starting:
                for session in cls.sessions:
                    signal_session(session, number)
            deadline = time.monotonic() + CLEANUP_TIME
            while cls.sessions and time.monotonic() < deadline:
                time.sleep(0.02)


def known_times():
    """Seconds by test, as kept in tests/times.txt. Those of other builds than gcc's have the build's name before: "asan/unit"."""
    with open(TIMES, encoding="utf-8") as text:
        return {name: int(seconds) for name, seconds in (line.split() for line in text)}


def name_in_build(run):
    build = os.path.basename(run.build).removeprefix("build-")
    return f"{build}/{run.name}" if build in ("asan", "tsan") else run.name


def write_times(runs):
    """Keeps how long the tests of this run took; tests that did not run keep their lines."""
    times = known_times() | {name_in_build(run): round(run.seconds) for run in runs if run.seconds is not None}
    with open(TIMES, "w", encoding="utf-8") as text:
        text.writelines(f"{name} {seconds}\n" for name, seconds in sorted(times.items()))


def run_all(runs, places):
    alone = [run for run in runs if "alone" in suites_of(run.test)]
    together = [run for run in runs if run not in alone]
    times = known_times()
    together.sort(key=lambda run: -times.get(name_in_build(run), times.get(run.name, run.test["timeout"])))
    pool = concurrent.futures.ThreadPoolExecutor(places.most)
    try:
        started = []
        for run in together:
            while not places.free(len(running := [other for other in started if not other.done()])):
                concurrent.futures.wait(running, timeout=0.5, return_when=concurrent.futures.FIRST_COMPLETED)
            started.append(pool.submit(run.run))
        for done in started:
            done.result()
        for run in alone:
            pool.submit(run.run).result()
        failed = [run for run in runs if run.failed]
        deadline = time.monotonic() + REPEAT_TIME
        for run in sorted(failed, key=lambda run: run.seconds or 0):
            if (len(failed) <= MOST_UNSTEADY or run.disturbed) and pool.submit(run.again_alone, deadline).result():
                print(f"UNSTEADY {run.name}: failed, then held twice by itself", flush=True)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        TestRun.stop_all()
        pool.shutdown()  # waits until the tests are cleaned up and reported
        raise


def interrupted(number, _):
    """Ends this program in the same way on ^C, by kill(1), and when its terminal closes: only once."""
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupted)
    parser = argparse.ArgumentParser(description="Runs the tests of one build directory and counts real cases.")
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", help="only these tests")
    parser.add_argument("--suite", action="append", default=[], help="only tests of this suite")
    parser.add_argument("--not-suite", action="append", default=[], help="no tests of this suite")
    parser.add_argument("--filter", help="Catch2 test specification for the unit tests")
    parser.add_argument("--tally", help="append 'passed failed' to this file")
    parser.add_argument("--jobs", type=int, help="so many tests at once, whatever the processors do")
    parser.add_argument("--write-times", action="store_true", help="keep in tests/times.txt how long each took")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    os.makedirs(os.path.join(build, "test-logs"), exist_ok=True)
    listing = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True)
    runs, machine = [], MachineWatch()
    for test in json.loads(listing.stdout):
        suites = suites_of(test)
        if options.names and test["name"] not in options.names:
            continue
        if (options.suite and not suites & set(options.suite)) or suites & set(options.not_suite):
            continue
        runs.append(TestRun(test, build, options.filter, machine))
    run_all(runs, Places(options.jobs))
    if options.write_times:
        write_times(runs)
    passed, failed = sum(run.passed for run in runs), sum(run.failed for run in runs)
    missing = set(options.names) - {run.name for run in runs} if runs else {"such test"}
    for name in sorted(missing):
        failed += 1
        print(f"FAILED run.py: no {name}", flush=True)
    if options.tally:
        with open(options.tally, "a", encoding="ascii") as tally:
            tally.write(f"{passed} {failed}\n")
            # Repeated at the end of the whole run: what is kept of a long output is mostly its end.
            for line in (line for run in runs if run.failed for line in run.lines if line.startswith("FAILED ")):
                tally.write(f"# {os.path.basename(build)}: {line.splitlines()[0][:300]}\n")
    else:
        print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt as e:
        print("interrupted: the tests that ran were ended", flush=True)
        sys.exit(128 + (e.args[0] if e.args else signal.SIGINT))
