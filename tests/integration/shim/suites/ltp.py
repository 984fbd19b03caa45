#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Linux Test Project's tests of system calls on files, in a bare directory and beneath a capture: they must end alike.

usage: ltp.py SOURCE KIND       on a file system of that kind; SOURCE: LTP's tree, configured; what is needed is built in it
       ltp.py --run SOURCE DIR  the tests in a directory, results as JSON (what the former runs)

By hand: it takes three minutes and the building, and LTP is no Debian package. Left out are tests that bring a file system of their own.
"""
import json
import os
import re
import resource
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness"))
from lower_fs import Cases, Scratch, run, shim_program  # noqa: E402

CALLS = """access chdir chmod chown chroot close copy_file_range creat dup dup2 dup3 execve execveat faccessat faccessat2 fallocate fanotify fchdir
fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatat fstatfs fsync
ftruncate futimesat getcwd getdents getxattr inotify lchown lgetxattr link linkat listxattr llistxattr llseek lremovexattr lseek lstat
mkdir mkdirat mknod mknodat mmap mremap msync munmap name_to_handle_at open open_by_handle_at openat openat2 pread preadv preadv2 pwrite
pwritev pwritev2 read readdir readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statx
symlink symlinkat sync_file_range tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev""".split()
OWN_FILE_SYSTEM = re.compile(r"all_filesystems|mount_device|needs_device|format_device|needs_cgroup|\bruntime\b")
PATIENCE = 25  # seconds
OPEN_FILES = 1024  # for each test: fewer than the capture may open
COUNTED = ("TPASS", "TFAIL", "TBROK", "TCONF")


def programs(source):
    """By name, the path of each that was built and needs no file system of its own."""
    found = {}
    for call in CALLS:
        folder = f"{source}/testcases/kernel/syscalls/{call}"
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path, text = f"{folder}/{name}", f"{folder}/{re.sub('_(64|16)$', '', name)}.c"
            if "." in name or not os.access(path, os.X_OK) or not os.path.exists(text):
                continue
            with open(text, encoding="utf-8", errors="replace") as code:
                if not OWN_FILE_SYSTEM.search(code.read()):
                    found[name] = path
    return found


def result_of(command, directory, environment):
    try:
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                              check=False)
    except subprocess.TimeoutExpired:
        return {"status": "it hangs"}
    lines = (done.stdout + done.stderr).splitlines()
    counts = {word: sum(word in line for line in lines) for word in COUNTED}
    return {"status": done.returncode, **counts, "why": [line for line in lines if "TFAIL" in line or "TBROK" in line][:3]}


def run_all(source, directory):
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    built = programs(source)
    folders = {os.path.dirname(path) for path in built.values()}
    environment = dict(os.environ, TMPDIR=directory, LTPROOT=source, PATH=":".join([os.environ["PATH"], *folders]))
    results = {}
    with open(f"{source}/runtest/syscalls", encoding="utf-8") as tests:
        for words in (line.split("#")[0].split() for line in tests):
            if len(words) > 1 and words[1] in built:
                results[words[0]] = result_of([built[words[1]], *words[2:]], directory, environment)
    print(json.dumps(results))


def compare(cases, bare, shim):
    for name, native in bare.items():
        beneath = shim.get(name, {"status": "not run"})
        skipped = native.get("TCONF", 0) > 0  # on that file system, not on a FUSE one
        alike = all(native.get(key) == beneath.get(key) for key in ("status", *COUNTED)) or (skipped and beneath["status"] == 0)
        cases.case(name, alike, f"bare {native}, beneath the capture {beneath}")


def main():
    if sys.argv[1:2] == ["--run"]:
        run_all(*sys.argv[2:])
        return 0
    source, kind = os.path.realpath(sys.argv[1]), sys.argv[2]
    run("make", "-C", f"{source}/lib", "-j2")
    for call in CALLS:
        subprocess.run(["make", "-k", "-j2", "-C", f"{source}/testcases/kernel/syscalls/{call}"], capture_output=True, check=False)
    cases = Cases()
    with Scratch() as scratch:
        point = scratch.mount(kind)
        results = []
        for name, prefix in (("bare", []), ("shim", [shim_program(), "capture", f"{point}/shim", "-o", f"{scratch.path}/t.zst", "--"])):
            os.mkdir(f"{point}/{name}")
            results.append(json.loads(run(*prefix, sys.executable, os.path.abspath(__file__), "--run", source, f"{point}/{name}")))
        compare(cases, *results)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
