#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public conformance suites on a directory and on the same directory beneath the shim: what passes without the shim passes with it.

usage: shim_suites.py [--thorough] [KIND]...    all of it, on tmpfs, ext4 and xfs, or those named; with more work
       shim_suites.py --in DIR SUITE AMOUNT      one suite in DIR; a JSON object of results on stdout (what the former runs)
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built, fstrace_program, run, shim_program  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("tmpfs", "ext4", "xfs")
# Sockets' paths have little room: suites see their directory as /mnt, in a mount namespace of their own.
IN_MNT = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" /mnt && exec "$2" "$3" --in /mnt "$4" "$5"', "sh"]
STRESSORS = """access chattr chdir chmod chown dentry dir dirdeep dirmany dnotify fallocate fcntl file-ioctl filename flock fpunch fsize
fstat getdent handle hdd inode-flags inotify io iomix lease link locka lockf lockofd mknod open rename symlink sync-file touch utime
xattr""".split()
STRESS_SIZES = """--chdir-dirs 200 --dentries 500 --dirdeep-inodes 2000 --fallocate-bytes 16m --filename-opts posix --hdd-bytes 16m
--iomix-bytes 16m --open-max 500 --sync-file-bytes 16m""".split()

# Cases whose result differs because of the kernel's FUSE, whatever a daemon does.
IMPOSED = {"link::link_count_max": "the C library knows LINK_MAX by the file system's type alone, and that is FUSE's",
           "open::etxtbsy": "O_RDONLY with O_TRUNC: the kernel has the file truncated before it looks whether it is being executed, and "
                            "what executes it may die of that before the look"}


def amount(suite, kind, thorough):
    """Seconds of stress-ng, or operations of fsx. Those of a disk wait for it."""
    if suite == "stress-ng":
        return 4 if thorough else 2
    return 10_000 if thorough else 4_000 if kind == "tmpfs" else 1_500


def suite_program(name):
    return built(f"tests/integration/suites/bin/{name}")


def pjdfstest(directory, _):
    done = subprocess.run([suite_program("pjdfstest"), "-c", f"{HERE}/suites/pjdfstest.toml", "-p", directory], cwd=directory,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    results = dict(re.findall(r"^([\w:]+)\s+(ok|FAILED|skipped)$", done.stdout, re.M))
    return {name: {"ok": "pass", "FAILED": "fail", "skipped": "skip"}[word] for name, word in results.items()}


def fsx(directory, operations, seeds=range(6), weights="fsx.toml"):
    def one(seed):
        place = f"{directory}/{seed}"
        os.mkdir(place)
        done = subprocess.run([suite_program("fsx"), "-q", "-f", f"{HERE}/suites/{weights}", "-N", operations, "-S", str(seed),
                               "-P", place, f"{place}/file"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout[-2000:], file=sys.stderr)
        return "pass" if done.returncode == 0 else "fail"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return {f"seed {seed}": result for seed, result in zip(seeds, pool.map(one, seeds))}


def fsx_sendfile(directory, operations):
    """What sendfile reads after a store through a mapping is old for a moment where mappings are the lower file's."""
    return fsx(directory, operations, range(6, 10), "fsx_sendfile.toml")


def stress_ng(directory, seconds, stressors):
    """Result of each, and of stress-ng as a whole."""
    command = ["stress-ng", *(word for s in stressors for word in (f"--{s}", "1")), "-t", seconds, "--verify", "-v",
               "--metrics-brief", "--temp-path", directory, *STRESS_SIZES]
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    ran = set(re.findall(r"metrc: \[\d+\] ([\w-]+) +\d+ ", done.stdout))
    complaints = re.findall(r"(?:fail|error): +\[\d+\] ([\w-]+):.*", done.stdout) + re.findall(
        r"process \[\d+\] \(([\w-]+)\) aborted", done.stdout)
    results = {s: "fail" if s in complaints else "pass" if s in ran else "skip" for s in stressors}
    if done.returncode != 0 or set(results.values()) != {"pass"}:
        print(done.stdout, file=sys.stderr)
    return results, "pass" if done.returncode == 0 else "fail"


def stress(directory, seconds):
    results, whole = stress_ng(directory, seconds, STRESSORS)
    # A stressor whom a signal of another one reaches before it begins does nothing and succeeds: that says nothing of the file system.
    for silent in [s for s, result in results.items() if result == "skip"]:
        results |= stress_ng(directory, seconds, [silent])[0]
    return results | {"all of them": whole}


OPTIONS = {"fsx-sendfile": ["--mappings", "seen"]}
SUITES = {"pjdfstest": pjdfstest, "fsx": fsx, "fsx-sendfile": fsx_sendfile, "stress-ng": stress}


def compare(cases, suite, kind, native, shim):
    """One case per suite and file system, which names what differs."""
    worse = [name for name, result in native.items()
             if shim.get(name) != result and (result == "pass" or shim.get(name) == "fail") and name not in IMPOSED]
    count = lambda results, word: sum(r == word for r in results.values())
    score = ", ".join(f"{word} {count(native, word)}/{count(shim, word)}" for word in ("pass", "fail", "skip"))
    cases.case(f"{suite} on {kind} (without/with the shim: {score})", count(native, "pass") > 0 and not worse,
               "worse beneath the shim: " + ", ".join(f"{n} ({native[n]} -> {shim.get(n)})" for n in worse[:20]))


def main():
    if sys.argv[1:2] == ["--in"]:
        json.dump(SUITES[sys.argv[3]](sys.argv[2], sys.argv[4]), sys.stdout)
        return 0
    thorough = "--thorough" in sys.argv
    cases = Cases()
    if not os.path.exists(suite_program("fsx")):
        cases.case("suites are built", False, "run: ninja -C BUILD tests/integration/suites.stamp")
        return 1
    with Scratch() as scratch:
        for kind in [word for word in sys.argv[1:] if word != "--thorough"] or KINDS:
            place = scratch.mount(kind)
            for suite in SUITES:
                native, shimmed = f"{place}/{suite}-native", f"{place}/{suite}-shim"
                trace = f"{scratch.path}/{kind}-{suite}.zst"
                for directory in (native, shimmed):
                    os.mkdir(directory)
                    os.chmod(directory, 0o777)
                me = [sys.executable, os.path.abspath(__file__), suite, str(amount(suite, kind, thorough))]
                one = subprocess.run([*IN_MNT, native, *me], stdout=subprocess.PIPE, text=True, check=True)
                two = subprocess.run([shim_program(), "capture", shimmed, "-o", trace, *OPTIONS.get(suite, []), "--", *IN_MNT, shimmed, *me],
                                     stdout=subprocess.PIPE, text=True, check=False)
                cases.case(f"{suite} on {kind}: the capture ends well", two.returncode == 0, f"status {two.returncode}")
                compare(cases, suite, kind, json.loads(one.stdout), json.loads(two.stdout or "{}"))
                run(fstrace_program(), "verify", trace)
            run("umount", place)
    for name, why in IMPOSED.items():
        print(f"# imposed by the kernel: {name}: {why}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
