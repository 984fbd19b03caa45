#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that wait for the capture in the middle of an exec, while they hold locks that others wait for: none of them hangs.

usage: shim_exec.py                    all of it
       shim_exec.py --in DIR WHAT      one of the programs below, in the captured directory (what the former runs)
"""
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from captures import PATIENCE, Capture, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402


def opened(name="f", flags=os.O_RDWR):
    """A file of the directory that an exec closes."""
    fd = os.open(name, flags | os.O_CREAT | os.O_CLOEXEC, 0o666)
    os.write(fd, b"x")
    return fd


def exec_after(pause, program="/bin/true"):
    """A child that has used nothing of the directory itself, and closes what it inherited by its exec."""
    pid = os.fork()
    if pid == 0:
        time.sleep(pause)
        os.execv(program, [program])
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def new_thread():
    opened()
    assert exec_after(0) == 0


def expired_thread():
    opened()
    pid = os.fork()
    if pid == 0:
        os.stat("f")
        time.sleep(1.2)  # longer than a thread is believed to be what it was
        os.execv("/bin/true", ["true"])
    assert os.waitpid(pid, 0)[1] == 0


def known_thread():
    opened()
    pid = os.fork()
    if pid == 0:
        os.stat("f")
        os.execv("/bin/true", ["true"])
    assert os.waitpid(pid, 0)[1] == 0


def directory():
    os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    assert exec_after(0) == 0


def locks():
    fcntl.flock(opened(), fcntl.LOCK_EX)
    fcntl.lockf(opened("g"), fcntl.LOCK_EX)
    pid = os.fork()
    if pid == 0:
        fcntl.lockf(opened("h"), fcntl.LOCK_EX)
        os.execv("/bin/true", ["true"])
    assert os.waitpid(pid, 0)[1] == 0


def spawn():
    for i in range(20):
        opened(f"s{i}")
    for _ in range(20):
        pid = os.posix_spawn("/bin/true", ["true"], {})
        assert os.waitpid(pid, 0)[1] == 0
        assert subprocess.run(["true"], close_fds=False, check=False).returncode == 0  # vfork


def threads():
    """Eight threads at work in a process of which another one executes a program."""
    for _ in range(10):
        pid = os.fork()
        if pid == 0:
            def work(i):
                while True:
                    with open(f"t{i}", "w", encoding="ascii") as f:
                        f.write("x")
                    os.stat(f"t{i}")
            for i in range(8):
                opened(f"t{i}")
                threading.Thread(target=work, args=(i,), daemon=True).start()
            time.sleep(0.05)
            os.execv("/bin/true", ["true"])
        assert os.waitpid(pid, 0)[1] == 0


def inside():
    """Programs that lie in the directory: an ELF file, its interpreter, a script, a set-id program."""
    opened()
    for program in ("./true", "./script", "./linked", "./setid"):
        assert exec_after(0, program) == 0, program


def stopped():
    """A client that is stopped while it holds locks and files, and one that a debugger stops at its exec."""
    pid = os.fork()
    if pid == 0:
        fcntl.flock(opened("locked"), fcntl.LOCK_EX)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execv("/bin/true", ["true"])
    os.waitpid(pid, os.WUNTRACED)
    try:
        fcntl.flock(opened("locked"), fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise AssertionError("locked twice")
    except BlockingIOError:
        pass
    new_thread()
    os.kill(pid, signal.SIGCONT)
    assert os.waitpid(pid, 0)[1] == 0
    assert subprocess.run(["strace", "-f", "-o", "/dev/null", sys.executable, __file__, "--in", "known_thread"], check=False).returncode == 0


def package():
    """dpkg, whose every script and helper is executed with files of its database open."""
    os.makedirs("package/DEBIAN")
    os.makedirs("root/var/lib/dpkg/info")
    os.makedirs("root/var/lib/dpkg/updates")
    for name in ("status", "available"):
        with open(f"root/var/lib/dpkg/{name}", "w", encoding="ascii"):
            pass
    with open("package/DEBIAN/control", "w", encoding="ascii") as f:
        f.write("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: p <p@p>\nDescription: p\n")
    for i in range(50):
        with open(f"package/{i}", "w", encoding="ascii") as f:
            f.write("x")
    for command in (["dpkg-deb", "-b", "package", "p.deb"], ["dpkg", f"--root={os.getcwd()}/root", "--force-all", "-i", "p.deb"]):
        assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0, command
    assert os.path.exists("root/49")


def held():
    opened()
    print(flush=True)
    sys.stdin.read()
    os.dup2(os.open("/dev/null", os.O_RDWR), 0)
    os.execv("/bin/true", ["true"])


PROGRAMS = {p.__name__: p for p in (new_thread, known_thread, expired_thread, directory, locks, spawn, threads, inside, stopped, package)}
HELD = {"held": held}


def fill(lower):
    """What inside() executes."""
    loader = next(word for word in run("ldd", "/bin/true").split() if word.startswith("/") and "ld-" in word)
    run("cp", "-L", "/bin/true", loader, "/bin/sh", lower)
    run("cp", f"{lower}/true", f"{lower}/setid")
    os.chown(f"{lower}/setid", 1000, 1000)
    os.chmod(f"{lower}/setid", 0o6755)
    with open(f"{lower}/script", "w", encoding="ascii") as f:
        f.write(f"#!{lower}/sh\nexit 0\n")
    os.chmod(f"{lower}/script", 0o755)
    # With an interpreter in the directory, in place of the usual one: a link to it, as short as that name or shorter.
    with open(f"{lower}/true", "rb") as f:
        elf = f.read()
    short = f"/tmp/l{os.getpid()}"
    os.symlink(f"{lower}/{os.path.basename(loader)}", short)
    assert len(short) <= len(loader)
    with open(f"{lower}/linked", "wb") as f:
        f.write(elf.replace(loader.encode() + b"\0", short.encode().ljust(len(loader) + 1, b"\0")))
    os.chmod(f"{lower}/linked", 0o755)
    return short


def states(pid):
    """Of all threads, from status, which does not wait itself."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as status:
            found |= {line.split()[1] for line in status if line.startswith("State:")}
    return found


def beside_held(cases, scratch, capture):
    """Other captures while a process is held in the middle of an exec, because the first capture does not answer."""
    other = f"{scratch.path}/other"
    os.mkdir(other)
    held = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--in", "held"], cwd=capture.directory,
                            stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    if not held.stdout.readline():
        cases.case("another capture runs beside a process that hangs in an exec", False, f"that process ended: {held.wait()}")
        return
    capture.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: states(capture.process.pid) == {"T"})
    held.stdin.close()
    time.sleep(0.5)
    wait_until(lambda: states(held.pid) <= {"S", "D"})
    try:
        beside = subprocess.run([shim_program(), "capture", other, "-o", f"{scratch.path}/other.zst", "--", "true"],
                                capture_output=True, text=True, timeout=PATIENCE, check=False)
        cases.case("another capture runs beside a process that hangs in an exec", beside.returncode == 0, beside.stderr)
        cases.case("it names the process as not looked at", f"does not answer: {held.pid} " in beside.stderr, beside.stderr)
        header = subprocess.run([fstrace_program(), "info", f"{scratch.path}/other.zst"], capture_output=True, text=True, check=False)
        cases.case("so does its trace", f"{held.pid} " in header.stdout and "not checked" in header.stdout, header.stdout)
    except subprocess.TimeoutExpired:
        cases.case("another capture runs beside a process that hangs in an exec", False, "it hangs")
    capture.process.send_signal(signal.SIGCONT)
    cases.case("the process goes on", held.wait(PATIENCE) == 0)


def main():
    if len(sys.argv) > 2:
        (PROGRAMS | HELD)[sys.argv[2]]()
        return 0
    cases = Cases()
    with Scratch() as scratch:
        lower = f"{scratch.mount('tmpfs')}/d"
        os.mkdir(lower)
        short = fill(lower)
        trace = f"{scratch.path}/t.zst"
        try:
            capture = Capture(lower, trace)
            for name in PROGRAMS:
                why = capture.runs(sys.executable, os.path.abspath(__file__), "--in", name)
                cases.case(f"exec: {name.replace('_', ' ')}", not why, why)
                if why == "it hangs":
                    break
            beside_held(cases, scratch, capture)
            cases.case("the capture ends", capture.end() == 0)
            cases.case("its trace is complete", subprocess.run([fstrace_program(), "verify", trace], check=False).returncode == 0)
        finally:
            os.unlink(short)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
