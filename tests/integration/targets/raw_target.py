#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""raw: on a plain file and on loop devices with blocks of 512 and 4096 bytes: where the extents are, what stands in them, what is
refused. The content is read back here, with no code of the target's."""
import csv
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ["FSR_BUILD"]
PATH = ":".join(os.path.join(BUILD, d) for d in ("shim", "replay", "tools"))
os.environ["PATH"] = PATH + ":" + os.environ["PATH"] + ":/usr/sbin:/sbin"
failed = 0
loops = []
mounts = []

# Writes of all sizes at all offsets: part of a block, over its edge, over each other, behind each other; two processes at once, one
# of them appending in small pieces to what the other one rewrites in the middle.
WRITER = r"""
import os, random, sys
top, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
for n in range(4):
    path = f"{top}/file-{seed}-{n}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    size = 0
    for _ in range(60):
        length = rng.choice((1, 100, 511, 512, 4096, 5000, 12288, 70000))
        offset = rng.randrange(size + 1) if rng.random() < 0.5 else size
        os.pwrite(fd, rng.randbytes(length), offset)
        size = max(size, offset + length)
        if rng.random() < 0.2:
            os.pread(fd, rng.randrange(1, 20000), rng.randrange(size))
    os.pread(fd, 4096, size)  # at the end of the file
    os.fsync(fd)
    os.close(fd)
for _ in range(300):
    fd = os.open(f"{top}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, b"%d\n" % seed * rng.randrange(1, 40))
    os.close(fd)
"""


def case(name, good, why=""):
    global failed
    failed += not good
    print(f"ok - {name}" if good else f"not ok - {name}: {why}", flush=True)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120, **options)


def must(*command):
    result = run(*command)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")
    return result.stdout


def replay(*arguments):
    return run("fsreplay", *arguments, "--timing", "asap", "-q")


def refused(name, status, text, *arguments):
    result = replay(*arguments)
    lines = result.stderr.strip().splitlines()
    case(name, result.returncode == status and len(lines) == 1 and text in lines[0], f"{result.returncode}: {result.stderr.strip()}")


def loop(size, block=512, *options):
    path = tempfile.mktemp(dir=".", prefix="disk-")
    with open(path, "wb") as file:
        file.truncate(size)
    device = must("losetup", "--find", "--show", "--sector-size", str(block), *options, path).strip()
    loops.append(device)
    return device


def clean_up():
    for place in reversed(mounts):
        run("umount", place)
    for device in reversed(loops):
        run("losetup", "--detach", device)
    os.chdir("/")
    shutil.rmtree(SCRATCH)


def capture():
    os.mkdir("captured")
    script = " & ".join(f"{sys.executable} -c '{WRITER}' captured {seed}" for seed in (1, 2)) + " & wait"
    must("fsshim", "capture", "captured", "-o", "app.zst", "--content", "full", "--", "sh", "-c", script)
    table = must("fstrace", "dump", "--json", "--op", "create", "app.zst")
    objects = {}
    for line in table.splitlines():
        op = json.loads(line)
        if "error" not in op:
            objects[int(op["object"])] = op["name"]
    return objects


def extents(layout):
    with open(layout, encoding="ascii") as file:
        return [{k: int(v) for k, v in row.items()} for row in csv.DictReader(file)]


def replay_and_compare(name, target, objects):
    result = replay("app.zst", f"raw:{target}?layout=layout", "--json")
    if result.returncode != 4:  # what a device can't express is left out
        case(f"{name}: replayed", False, result.stderr)
        return
    report = json.loads(result.stdout)
    case(f"{name}: every read and write as recorded", report["differed"] == 0 and report["violations"] == 0, str(report["mismatches"]))
    impossible = {name for name, kind in report["kinds"].items() if kind["impossible"]}
    issued = {name for name, kind in report["kinds"].items() if kind["issued"]}
    case(f"{name}: data is issued, names are counted",
         issued == {"read", "write", "fsync"} and {"create", "open", "release"} <= impossible, f"{issued} {impossible}")
    found = extents("layout")
    wrong, end = [], 0
    with open(target, "rb") as device:
        for extent in found:
            if extent["start"] < max(end, 4096) or extent["start"] % 4096:
                wrong.append(f"{extent} overlaps another or is not aligned")
            end = extent["start"] + extent["bytes"]
            with open(os.path.join("captured", objects[extent["object"]]), "rb") as file:
                expected = file.read()
            device.seek(extent["start"])
            if device.read(extent["bytes"]) != expected:
                wrong.append(f"{objects[extent['object']]} at {extent['start']} differs")
    case(f"{name}: at its extent, every file has the captured content", len(found) == len(objects) and not wrong, "; ".join(wrong))
    counters = report["counters"]
    altered = sum(v for k, v in counters.items() if "widened" in k or "part of a block" in k)
    approximate = sum(kind["approximate"] for kind in report["kinds"].values())
    case(f"{name}: every altered request is counted", altered == approximate > 0, f"{altered} altered, {approximate} approximate")
    return found


def round_trips(objects):
    with open("plain", "wb") as file:
        file.truncate(32 << 20)
    first = replay_and_compare("plain file", "plain", objects)
    again = replay_and_compare("plain file, again", "plain", objects)
    case("the same trace has the same extents", first == again, "")
    replay_and_compare("loop device", loop(32 << 20), objects)
    replay_and_compare("loop device of 4096-byte blocks", loop(32 << 20, 4096), objects)

    need = 4096 + sum(-(-e["bytes"] // 4096) * 4096 for e in first)
    exact, short = loop(need), loop(need - 4096)
    case("a device of just the size", replay("app.zst", f"raw:{exact}").returncode == 4, "")
    refused("a device that is 4 KiB too small", 2, "files take", "app.zst", f"raw:{short}")
    result = replay("app.zst", f"raw:{short}?wrap=1", "--json")
    wraps = [v for k, v in json.loads(result.stdout)["counters"].items() if "laid over others" in k] if result.stdout else []
    case("with wrap=1 it is run, and said", wraps == [1], f"{wraps} {result.stderr}")
    result = replay("app.zst", f"raw:{short}?wrap=1", "--dry-run")
    case("--dry-run says what it can't do", result.returncode == 4 and "not expressible  create" in result.stdout, result.stdout + result.stderr)


def holding(name, text, make):
    device = loop(64 << 20)
    make(device)
    with open(device, "rb") as file:
        before = file.read()
    refused(f"refused: {name}", 2, text, "app.zst", f"raw:{device}")
    with open(device, "rb") as file:
        case(f"nothing was changed: {name}", file.read() == before, "")
    return device


def partition(device):
    """One of type 83, from block 2048 on, in the layout that DOS gave it."""
    with open(device, "r+b") as file:
        file.seek(446)
        file.write(struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\0\2\0", 2048, 65536))
        file.seek(510)
        file.write(b"\x55\xaa")


def refusals():
    ext4 = holding("ext4", "holds ext4 (label home)", lambda d: must("mkfs.ext4", "-q", "-L", "home", d))
    holding("xfs", "holds xfs", lambda d: must("mkfs.xfs", "-q", "-d", "size=64m", "--unsupported", d))
    holding("swap", "holds swap", lambda d: must("mkswap", d))
    holding("a partition table", "a partition table (dos)", partition)
    parted = loop(64 << 20, 512, "--partscan")
    must("addpart", parted, "1", "2048", "65536")
    refused("refused: partitions", 2, f"has the partitions {os.path.basename(parted)}p1", "app.zst", f"raw:{parted}")
    case("a partition itself is taken", replay("app.zst", f"raw:{parted}p1").returncode == 4, "")
    os.mkdir("mounted")
    must("mount", ext4, "mounted")
    mounts.append("mounted")
    refused("refused: mounted", 2, f"is mounted on {os.path.realpath('mounted')}", "app.zst", f"raw:{ext4}")
    refused("refused: mounted, with --force", 2, "--force does not override", "app.zst", f"raw:{ext4}", "--force")
    must("umount", "mounted")
    mounts.remove("mounted")
    forced = replay("app.zst", f"raw:{ext4}", "--force")
    case("--force overwrites a file system", forced.returncode == 4, forced)

    busy = loop(32 << 20)
    held = os.open(busy, os.O_RDONLY | os.O_EXCL)
    refused("refused: opened exclusively by another", 2, "is in use", "app.zst", f"raw:{busy}")
    refused("refused: opened exclusively by another, with --force", 2, "--force does not override", "app.zst", f"raw:{busy}", "--force")
    os.close(held)
    with open("/sys/block/" + os.path.basename(busy) + "/loop/backing_file", encoding="utf-8") as file:
        refused("refused: a file below a loop device", 2, f"is the backing file of {busy}", "app.zst", "raw:" + file.read().strip())
    with open("document", "w", encoding="ascii") as file:
        file.write("somebody's work\n" * 10000)
    refused("refused: a file of somebody else's", 2, "data of another program", "app.zst", "raw:document")


def bad_input():
    os.mkdir("directory")
    refused("no such device", 2, "No such file or directory", "app.zst", "raw:/dev/no-such-device")
    refused("a directory", 2, "is a directory", "app.zst", "raw:directory")
    refused("a character device", 2, "neither a block device nor a file", "app.zst", "raw:/dev/null")
    refused("a read-only device", 2, "", "app.zst", f"raw:{loop(32 << 20, 512, '--read-only')}")
    with open("tiny", "wb") as file:
        file.truncate(4096)
    refused("a file of one block", 2, "too small", "app.zst", "raw:tiny")
    refused("an option that there is not", 2, "expected raw:PATH", "app.zst", "raw:plain?block=5")
    refused("no path", 2, "expected raw:PATH", "app.zst", "raw:")
    refused("a layout that can't be written", 2, "No such file or directory", "app.zst", "raw:plain?layout=no/such/layout")
    refused("--cleanup", 2, "no tree that --cleanup could remove", "app.zst", "raw:plain", "--cleanup")
    result = run("fsreplay", "mix:nhfsstone", "raw:plain", "-q")
    case("a mix", result.returncode == 2 and "has no file names" in result.stderr, result.stderr)
    result = run("fsreplay", "target", "stat", "raw:plain")
    case("fsreplay target stat", result.returncode == 0 and "raw:plain: raw, " in result.stdout, result.stderr)
    result = run("fsreplay", "target", "ls", "raw:plain")
    case("fsreplay target ls: one line, status 1", result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr)


SCRATCH = tempfile.mkdtemp(prefix="fsshim-test.", dir="/var/tmp")  # on disk: a tmpfs may have no O_DIRECT
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    os.chdir(SCRATCH)
    round_trips(capture())
    refusals()
    bad_input()
finally:
    clean_up()
sys.exit(1 if failed else 0)
