#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target on a mounted file system that does not answer any more, here a capture whose processes are stopped. A call that the file
system has not taken yet can only be left by ending the program, which a third ^C does."""
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import Capture, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, put_on_path, run  # noqa: E402

BETWEEN = 0.3  # seconds between two ^C
PATIENCE = 20


def processes_of(capture):
    children = subprocess.run(["pgrep", "-P", str(capture.process.pid)], capture_output=True, text=True, check=False).stdout
    return [capture.process.pid, *map(int, children.split())]


def stopped_between_requests(capture):
    """Its processes, stopped while they serve no request: nothing ends a caller whose request they have taken."""
    processes = processes_of(capture)

    def stopped():
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        with open(f"{capture.connection}/waiting", encoding="ascii") as waiting:
            if waiting.read() == "0\n":
                return True
        for process in processes:
            os.kill(process, signal.SIGCONT)
        return False
    wait_until(stopped)
    return processes


def left_by_third(capture, *command):
    """Empty, or how the program ended otherwise. It works on the capture's directory for a second, and then that answers no more."""
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    if program.poll() is not None:
        return f"ended too early, with status {program.returncode}"
    stopped = stopped_between_requests(capture)
    try:
        for number in range(3):
            time.sleep(BETWEEN)
            if program.poll() is not None:
                return f"ended after {number} ^C, with status {program.returncode}"
            program.send_signal(signal.SIGINT)
        program.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return "it hangs"
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)
        program.kill()
        program.wait()
    return "" if program.returncode == -signal.SIGINT else f"status {program.returncode}"


def main():
    cases = Cases()
    put_on_path()
    with Scratch() as scratch:
        os.chdir(scratch.path)
        os.mkdir("source")
        os.mkdir("hung")
        run("fsshim", "capture", "source", "-o", "slow.zst", "--", "sh", "-c", "for i in $(seq 40); do echo $i >source/$i; sleep 0.1; done")
        capture = Capture(f"{scratch.path}/hung", f"{scratch.path}/hung.zst")
        try:
            why = left_by_third(capture, "fsreplay", "slow.zst", "file:hung/tree", "-q")
            cases.case("a replay on a mount that hangs is left by the third ^C", not why, why)
        finally:
            capture.end()
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
