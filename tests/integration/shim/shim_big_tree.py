#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tree with far more files than descriptors, and inode numbers that come back.

usage: shim_big_tree.py              100,000 files under RLIMIT_NOFILE 256
       shim_big_tree.py 1000000      a million under RLIMIT_NOFILE 1024
"""
import json
import os
import resource
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/probes"]
from captures import LOW_LIMIT, Capture  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402
from probe_tools import put  # noqa: E402

PER_DIRECTORY = 1000


def walk(directory):
    """Names, attributes and a byte of some: everything is looked up once."""
    files = bytes_read = 0
    for top, _, names in os.walk(directory):
        for i, name in enumerate(names):
            files += os.lstat(f"{top}/{name}").st_size == 1
            if i % 50 == 0:
                with open(f"{top}/{name}", "rb") as file:
                    bytes_read += len(file.read())
    return files, bytes_read


def drop_caches():
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
        control.write("2\n")


def daemon_state(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return resident // 1024, len(os.listdir(f"/proc/{pid}/fd"))


def big_tree(cases, scratch, files):
    limit = 1024 if files >= 1_000_000 else 256
    tree = scratch.mount("tmpfs", size="8G", options=("nr_inodes=3m",))
    for d in range(files // PER_DIRECTORY):
        os.mkdir(f"{tree}/{d}")
        for i in range(PER_DIRECTORY):
            put(f"{tree}/{d}/{i}")
    trace = f"{scratch.path}/tree.zst"
    shim = subprocess.Popen([shim_program(), "capture", tree, "-o", trace], stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    while not os.path.ismount(tree) or "fuse.fsshim" not in open("/proc/self/mounts", encoding="utf-8").read():
        if shim.poll() is not None:
            cases.case("capture starts", False, shim.stderr.read())
            return
    states = []
    for turn in range(2):
        found = walk(tree)
        cases.case(f"walk {turn + 1} over {files} files with {limit} descriptors", found == (files, files // 50), str(found))
        drop_caches()
        states.append(daemon_state(shim.pid))
    print(f"# MiB resident and descriptors of the daemon after each walk: {states}")
    megabytes = [state[0] for state in states]
    cases.case("its descriptors stay below the limit", max(state[1] for state in states) <= limit, str(states))
    cases.case("its memory is bounded by the tree", max(megabytes) < 150 + files * 600 // 1_000_000, f"{megabytes} MiB")
    cases.case("what the kernel forgets is forgotten", megabytes[1] < megabytes[0] * 1.15 + 20, f"{megabytes} MiB")
    subprocess.run([shim_program(), "stop", tree], check=True, stdout=subprocess.DEVNULL)
    shim.communicate()
    cases.case("the capture ends well", shim.returncode == 0, f"status {shim.returncode}")
    info = json.loads(subprocess.check_output([fstrace_program(), "info", "--json", trace]))
    cases.case("nothing was dropped", info["closing"]["dropped"] == 0 and info["by_kind"]["lookup"] >= files, str(info["closing"]))


def deep_tree(cases, scratch, depth):
    """A user goes down where file handles can't be used, and makes the capture close the directories above."""
    tree = scratch.mount("tmpfs", name="above")
    os.mkdir(f"{tree}/inside")
    run("mount", "-t", "tmpfs", "-o", "mode=777,nr_inodes=0", "none", f"{tree}/inside")
    capture = Capture(tree, f"{scratch.path}/deep.zst", prefix=LOW_LIMIT)
    user = os.fork()
    if user == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        os.chdir(f"{tree}/inside")
        top = os.open(".", os.O_PATH)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        for i in range(400):
            os.mkdir(str(i), dir_fd=top)
        os._exit(0 if os.stat(".").st_nlink else 1)
    _, status = os.waitpid(user, 0)
    cases.case(f"{depth} directories, one in the other, with few descriptors", (status, capture.end()) == (0, 0), status)
    run("umount", f"{tree}/inside")


def make_and_remove(directory, rounds):
    """Files of every kind whose numbers the file system will want to use again."""
    os.chdir(directory)
    put("kept")
    for i in range(rounds):
        put("f")
        os.unlink("f")
        os.mkdir("d")
        os.rmdir("d")
        put("new")
        os.rename("new", "kept")
        put("a")
        os.link("a", "b")
        os.unlink("a")
        os.unlink("b")
        os.symlink("x", "l")
        os.unlink("l")
        fd = os.open("g", os.O_CREAT | os.O_RDWR)
        os.unlink("g")
        put("h")
        os.close(fd)
        os.unlink("h")
        os.mknod(f"n{i % 3}", 0o100600)
        os.unlink(f"n{i % 3}")


def identities(cases, scratch, kind, rounds):
    place = scratch.mount(kind)
    trace = f"{scratch.path}/{kind}.zst"
    done = subprocess.run([shim_program(), "capture", place, "-o", trace, "--", sys.executable, os.path.abspath(__file__), "--in", place, str(rounds)],
                          capture_output=True, text=True, check=False)
    cases.case(f"making and removing on {kind}", done.returncode == 0, done.stderr)
    made, gone, again, late = set(), set(), 0, 0
    dump = subprocess.Popen([fstrace_program(), "dump", "--json", trace], stdout=subprocess.PIPE, text=True)
    for line in dump.stdout:
        op = json.loads(line)
        if "error" in op:
            continue
        if op["kind"] in ("mkdir", "symlink", "mknod") or (op["kind"] == "create" and op.get("op_flags", 0) & 16):
            again += op["object"] in made
            made.add(op["object"])
        elif op["kind"] in ("lookup", "getattr", "open") and op.get("object") in gone:
            late += 1
        if op["kind"] in ("unlink", "rmdir") and op.get("object"):
            gone.add(op["object"])
        if op["kind"] == "link":
            gone.discard(op.get("object"))
    dump.wait()
    # "a" loses its first name and is found by the other: gone only in appearance.
    cases.case(f"no new file has the identity of an old one on {kind}", again == 0 and len(made) == rounds * 8 + 1, f"{again} of {len(made)} do")
    cases.case(f"what was removed is not met again on {kind}", late <= rounds, f"{late} times")


def main():
    if sys.argv[1:2] == ["--in"]:
        make_and_remove(sys.argv[2], int(sys.argv[3]))
        return 0
    cases = Cases()
    with Scratch() as scratch:
        big_tree(cases, scratch, int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
        deep_tree(cases, scratch, 30_000)
    with Scratch() as scratch:
        for kind in ("ext4", "xfs", "tmpfs"):
            identities(cases, scratch, kind, 300)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
