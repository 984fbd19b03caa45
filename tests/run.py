#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one build directory and counts real cases.

usage: tests/run.py BUILD [--suite NAME]... [--not-suite NAME]... [--filter CATCH] [--tally FILE] [NAME...]

Tests are the ones that meson knows (meson introspect --tests). Those of suite "unit" are Catch2 programs and each of their test
cases counts; every other test is a program that prints one line per case, "ok - name" or "not ok - name: why", and exits with 1
when a case failed. A test counts as one failed case more when it reports nothing, dies, runs into its time limit, leaves a mount
behind or makes a sanitizer speak. Output of each test is kept in BUILD/test-logs.
"""
import argparse
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


def mounts_below(directory):
    """Captures elsewhere on this machine are none of ours."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
        points = [line.split()[1] for line in mounts]
    return [point for point in points if point.startswith(directory + "/")]


class Runner:
    def __init__(self, build, catch_filter):
        self.build = os.path.abspath(build)
        self.catch_filter = catch_filter
        self.logs = os.path.join(self.build, "test-logs")
        os.makedirs(self.logs, exist_ok=True)
        self.passed = 0
        self.failed = 0

    def tests(self):
        listing = subprocess.run(["meson", "introspect", "--tests", self.build], check=True, capture_output=True)
        return json.loads(listing.stdout)

    def case_failed(self, test, what):
        self.failed += 1
        print(f"FAILED {test}: {what}", flush=True)

    def run_logged(self, test, command, pass_fds=()):
        """Exit status (None: time limit) and output of one test, its whole process group ended."""
        name = test["name"]
        env = os.environ | test["env"]
        speech = os.path.join(self.logs, f"{name}.sanitizer")
        for old in glob.glob(speech + ".*"):
            os.unlink(old)
        env["ASAN_OPTIONS"] = f"detect_stack_use_after_return=0:log_path={speech}"
        env["UBSAN_OPTIONS"] = f"halt_on_error=1:print_stacktrace=1:log_path={speech}"
        env["TSAN_OPTIONS"] = f"halt_on_error=1:log_path={speech}"
        env["LSAN_OPTIONS"] = f"log_path={speech}"
        scratch = tempfile.mkdtemp(prefix="fsshim-run.")
        os.chmod(scratch, 0o755)
        env["TMPDIR"] = scratch
        log = os.path.join(self.logs, f"{name}.log")
        with open(log, "wb") as out:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=env,
                                     cwd=test["workdir"] or self.build, start_new_session=True, pass_fds=pass_fds)
            try:
                status = child.wait(timeout=test["timeout"] or 600)
            except subprocess.TimeoutExpired:
                status = None
            except KeyboardInterrupt:
                os.killpg(child.pid, signal.SIGTERM)
                raise
            if status is None:
                os.killpg(child.pid, signal.SIGTERM)  # lets a script clean up
                try:
                    child.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    pass
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        for left in reversed(mounts_below(scratch)):
            self.case_failed(name, f"left {left} mounted")
            subprocess.run(["umount", "-l", left], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
        for report in sorted(glob.glob(speech + ".*")):
            with open(report, encoding="utf-8", errors="replace") as text:
                self.case_failed(name, "a sanitizer reported\n" + text.read()[:6000])
        with open(log, encoding="utf-8", errors="replace") as text:
            return status, text.read()

    def run_unit(self, test):
        name = test["name"]
        # A pipe, because test cases about full disks limit the size of every file that their process writes.
        receiver, sender = os.pipe()
        command = test["cmd"] + ["-r", "xml", "-o", f"/dev/fd/{sender}"]
        if self.catch_filter:
            command.append(self.catch_filter)
        report = []
        with open(receiver, "rb") as stream:
            reader = threading.Thread(target=lambda: report.append(stream.read()))
            reader.start()
            status, output = self.run_logged(test, command, (sender,))
            os.close(sender)
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
            self.case_failed(name, f"{case.get('name')}\n    " + "\n    ".join(where[:5]))
        if not cases or (status != 0 and not failed):
            self.case_failed(name, f"ended with {status} after {passed} cases\n{output[-3000:]}")
        self.passed += passed

    def run_script(self, test):
        name = test["name"]
        status, output = self.run_logged(test, test["cmd"])
        passed = len(re.findall(r"^ok - ", output, re.M))
        bad = re.findall(r"^not ok - (.*)", output, re.M)
        for what in bad:
            self.case_failed(name, what)
        if status is None:
            self.case_failed(name, f"still running after {test['timeout']} s")
        elif status != 0 and not bad:
            self.case_failed(name, f"exit status {status} without a failed case")
        elif status == 0 and bad:
            self.case_failed(name, "exit status 0 in spite of a failed case")
        elif status == 0 and not passed:
            self.case_failed(name, "reported no case")
        if bad or status != 0:
            print("    " + "\n    ".join(output.splitlines()[-60:]), flush=True)
        self.passed += passed

    def run(self, test):
        start, failed, passed = time.monotonic(), self.failed, self.passed
        if "unit" in [s.split(":")[-1] for s in test["suite"]]:
            self.run_unit(test)
        else:
            self.run_script(test)
        word = "ok    " if failed == self.failed else "FAILED"
        print(f"{word} {test['name']}: {self.passed - passed} passed, {self.failed - failed} failed, "
              f"{time.monotonic() - start:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Runs the tests of one build directory and counts real cases.")
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", help="only these tests")
    parser.add_argument("--suite", action="append", default=[], help="only tests of this suite")
    parser.add_argument("--not-suite", action="append", default=[], help="no tests of this suite")
    parser.add_argument("--filter", help="Catch2 test specification for the unit tests")
    parser.add_argument("--tally", help="append 'passed failed' to this file")
    options = parser.parse_args()
    runner = Runner(options.build, options.filter)
    ran = 0
    for test in runner.tests():
        suites = {s.split(":")[-1] for s in test["suite"]}
        if options.names and test["name"] not in options.names:
            continue
        if (options.suite and not suites & set(options.suite)) or suites & set(options.not_suite):
            continue
        runner.run(test)
        ran += 1
    if not ran:
        runner.case_failed("run.py", "no such test")
    if options.tally:
        with open(options.tally, "a", encoding="ascii") as tally:
            tally.write(f"{runner.passed} {runner.failed}\n")
    else:
        print(f"{runner.passed} passed, {runner.failed} failed")
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()
