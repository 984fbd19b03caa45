#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a directory more than a hundred questions that an application could ask, without the shim and beneath it, on several file
systems: the answers must be the same. Each probe (folder probes/) returns something printable or fails with an errno; probes run in
a directory of their own.

usage: shim_probes.py [--kinds KIND,...] [PROBE...]      all probes, or those named, on each of KINDS
       shim_probes.py --in DIR [PROBE...]   answers of one directory (what the former runs)
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/probes", f"{HERE}/../harness"]
import probe_attributes  # noqa: E402, F401
import probe_data  # noqa: E402, F401
import probe_files  # noqa: E402, F401
import probe_locks  # noqa: E402, F401
import probe_mappings  # noqa: E402, F401
import probe_names  # noqa: E402, F401
import probe_rights  # noqa: E402, F401
from lower_fs import Cases, Scratch, shim_program  # noqa: E402
from probe_tools import PROBES  # noqa: E402

KINDS = ("tmpfs", "ext4", "xfs", "btrfs", "overlay")

# What the kernel's FUSE answers without asking anybody, so that no daemon can make it like native. At most five.
IMPOSED = {
    "collapsing_and_inserting_ranges": "the kernel refuses these modes of fallocate",
    "extents": "the kernel knows neither FIEMAP nor FICLONE for FUSE",
    "file_system_type": "f_type is FUSE's own",
    "not_waiting_reads": "RWF_NOWAIT is refused",
    "holder_of_a_description_lock": "the kernel makes 0 of the -1 that stands for no process",
}


# What a kind of file system does differently itself, as fsshim(1) says.
OWN = {
    ("btrfs", "attribute_lists"): "shows names in trusted. to everybody",
    ("btrfs", "directories_move_with_their_files"): "lists first what there was at opendir(3)",
    ("overlay", "file_handles"): "has none", ("overlay", "file_handles_do_not_come_back"): "has none",
    ("overlay", "size_of_a_file_in_other_words"): "knows no FIGETBSZ",
}


def run_probes(directory, only):
    """{name: answer}"""
    answers = {}
    for function in PROBES:
        if only and function.__name__ not in only:
            continue
        place = tempfile.mkdtemp(dir=directory)
        os.chdir(place)
        os.umask(0)
        try:
            answers[function.__name__] = repr(function())
        except OSError as e:
            answers[function.__name__] = f"probe failed: {e!r}"
        os.chdir("/")
    return answers


def run_on(cases, scratch, kind, only):
    point = scratch.mount(kind)
    for place in ("native", "shim"):
        os.mkdir(f"{point}/{place}", 0o755)
    native = run_probes(f"{point}/native", only)
    options = os.environ.get("FSR_CAPTURE_OPTIONS", "").split()
    run = subprocess.run([shim_program(), "capture", f"{point}/shim", "-o", f"{scratch.path}/{kind}.zst", *options, "--", sys.executable,
                          os.path.abspath(__file__), "--in", f"{point}/shim", *only], capture_output=True, text=True, check=False)
    shimmed = dict(line.split("\t", 1) for line in run.stdout.splitlines() if "\t" in line)
    for name, answer in native.items():
        if why := OWN.get((kind, name)):
            cases.case(f"{name} on {kind} differs: it {why}", shimmed.get(name) not in (None, answer), f"no longer: {answer}")
        elif "probe failed" in answer:
            cases.case(f"{name} on {kind}", False, f"does not work without the shim: {answer}")
        elif name in IMPOSED:
            print(f"# {name} on {kind}: native {answer}, shim {shimmed.get(name)}: {IMPOSED[name]}")
        else:
            cases.case(f"{name} on {kind}", shimmed.get(name) == answer, f"native {answer}, shim {shimmed.get(name)}")
    cases.case(f"capture on {kind}", run.returncode == 0, f"status {run.returncode}: {run.stderr}")


# Copies 4 GiB, which xfs does at once. A count of 32 bits would be 0, as at the end of the file.
LARGE_COPY = """import os
os.truncate(os.open("from", os.O_CREAT | os.O_WRONLY), 1 << 32)
source, target, total = os.open("from", os.O_RDONLY), os.open("to", os.O_CREAT | os.O_WRONLY), 0
while n := os.copy_file_range(source, target, 1 << 33):
    total += n
print(total, os.fstat(target).st_size)"""


def large_copy(cases, scratch):
    place = scratch.mount("xfs", name="large")
    run = subprocess.run([shim_program(), "capture", place, "-o", f"{scratch.path}/large.zst", "--", sys.executable, "-c", LARGE_COPY],
                         cwd=place, capture_output=True, text=True, check=False)
    cases.case("a copy of 4 GiB", run.stdout.split() == [str(1 << 32)] * 2, run.stdout + run.stderr)


def main():
    if sys.argv[1:2] == ["--in"]:
        for name, answer in run_probes(sys.argv[2], sys.argv[3:]).items():
            print(f"{name}\t{answer}")
        return 0
    cases = Cases()
    only, kinds = sys.argv[1:], KINDS
    if only[:1] == ["--kinds"]:
        kinds, only = only[1].split(","), only[2:]
    with Scratch() as scratch:
        for kind in kinds:
            run_on(cases, scratch, kind, only)
        if not only:
            large_copy(cases, scratch)
    if not only:
        cases.case("there are a hundred probes, and at most five that the kernel decides", len(PROBES) >= 100 and len(IMPOSED) <= 5,
                   f"{len(PROBES)} probes, {len(IMPOSED)} of them the kernel's")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
