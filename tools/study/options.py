# SPDX-License-Identifier: Apache-2.0
"""The study's command line. What can be known to be wrong before anything is measured is refused here: one line, status 2."""
import argparse
import math
import os
import sys

GIVEN_PARTS = ("unbuffered", "buffered", "bonnie")  # need no server that is started here


def refuse(text):
    print(f"study-9p-nfs: {text}", file=sys.stderr)
    sys.exit(2)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        refuse(f"{message} (--help lists the options)")


def whole(least, most):
    def parse(word):
        if not word.isascii() or not word.isdigit() or not least <= int(word) <= most:
            raise argparse.ArgumentTypeError(f"expected a number from {least} to {most}, found '{word}'")
        return int(word)
    return parse


def milliseconds(word):
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 10000:
        raise argparse.ArgumentTypeError(f"expected milliseconds from 0 to 10000, found '{word}'")
    return value


def check_output(option, name):
    """Refuses a file that could not be written after hours of measuring."""
    directory = os.path.dirname(os.path.abspath(name))
    if not os.path.isdir(directory):
        refuse(f"{option} {name}: there is no directory {directory}")
    if os.path.exists(name) and not os.path.isfile(name):
        refuse(f"{option} {name}: expected a file")
    if not os.access(name if os.path.exists(name) else directory, os.W_OK):
        refuse(f"{option} {name}: no permission to write it")


def check_together(options):
    names = {"--from": options.saved, "--kernel": options.kernel, "--server": options.server, "--target": options.given, "--save": options.save,
             "--part": options.parts}
    clashes = [("--from", "--kernel"), ("--from", "--server"), ("--from", "--target"), ("--from", "--save"), ("--from", "--part"),
               ("--kernel", "--server"), ("--kernel", "--target"), ("--server", "--target")]
    for one, other in clashes:
        if names[one] and names[other]:
            refuse(f"{one} and {other} do not go together")
    if options.output:
        for option in ("--from", "--save"):
            if names[option] and os.path.realpath(names[option]) == os.path.realpath(options.output):
                refuse(f"-o {options.output}: the page would replace the data of {option}; expected another file")


def check(options):
    check_together(options)
    if options.output:
        check_output("-o", options.output)
        check_output("-o", options.output + ".json")
    if options.save:
        check_output("--save", options.save)
    if options.u9fs and not (os.path.isfile(options.u9fs) and os.access(options.u9fs, os.X_OK)):
        refuse(f"--u9fs {options.u9fs}: expected a program")
    if not options.export.startswith("/") or not options.export.isprintable() or set(options.export) & set("?#&%"):
        refuse(f"--export {options.export!r}: expected an absolute path without ?, #, & and %")


def parsed():
    parser = Parser(description="Compares NFS and 9P by PostMark and bonnie++.")
    parser.add_argument("--kernel", action="store_true", help="measure the kernel's mounts, in a virtual machine, not this project's clients")
    parser.add_argument("--part", dest="parts", action="append", metavar="PART", help="measure only this part; may be repeated; 'all' is all of them")
    parser.add_argument("--rounds", type=whole(1, 10000), default=5, help="run each program so many times on each target (default 5)")
    parser.add_argument("--transactions", type=whole(1, 1 << 31), default=50000, help="make PostMark run so many transactions (default 50000; a fiftieth of them in the part 'delay')")
    parser.add_argument("--number", type=whole(1, 1 << 31), default=500, help="make PostMark begin with so many files (default 500)")
    parser.add_argument("--size", type=whole(1, 1 << 31), help="give bonnie's big file so many MiB (default 256; with --kernel, twice --memory)")
    parser.add_argument("--memory", type=whole(32, 1 << 20), default=64, help="leave programs and caches so many MiB in the virtual machine (default 64)")
    parser.add_argument("--files", type=whole(1, 1 << 20), default=16, help="test so many times 1024 small files with bonnie (default 16)")
    parser.add_argument("--delay", dest="delays", type=milliseconds, action="append", metavar="MS", help="add this round-trip time in the part 'delay' (default 0, 0.2, 1 and 5)")
    parser.add_argument("--keep-caches", action="store_true", help="do not drop the machine's caches before each run")
    parser.add_argument("--u9fs", metavar="PROGRAM", help="run this u9fs, which Debian has no package of, in the part 'servers'")
    parser.add_argument("--server", metavar="HOST", help="compare servers that run on HOST, on their standard ports")
    parser.add_argument("--export", default="/export", help="name the directory that all servers of --server export (default /export)")
    parser.add_argument("--target", dest="given", action="append", metavar="NAME=TARGET", help="compare this target, a URL or a mounted directory; given at least twice")
    parser.add_argument("--timeout", type=whole(1, 10000000), default=7200, help="stop a part in the virtual machine after so many seconds (default 7200)")
    parser.add_argument("--save", metavar="FILE", help="keep results as JSON, part by part; parts that FILE has are not measured again")
    parser.add_argument("--from", dest="saved", metavar="FILE", help="measure nothing; make the page from this file of --save")
    parser.add_argument("-o", "--output", metavar="PAGE", help="write the page into this file (default: standard output)")
    parser.add_argument("--beside-server", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for option, value in (("--server", options.server), ("--save", options.save), ("--from", options.saved), ("-o", options.output), ("--u9fs", options.u9fs)):
        if value == "":
            refuse(f"{option}: expected a name, found an empty word")
    options.delays = sorted(set(options.delays or [0, 0.2, 1, 5]))
    options.size = options.size or (2 * options.memory if options.kernel else 256)
    if options.u9fs:
        options.u9fs = os.path.abspath(options.u9fs)
    check(options)
    return options


def chosen(options, parts):
    """The names of the parts to measure, with a reason for each one that was asked for and can't be."""
    client, named = "kernel" if options.kernel else "own", options.parts or []
    for name in named:
        if name not in parts and name != "all":
            refuse(f"--part {name}: expected one of {', '.join(parts)}, all")
    outside = options.server or options.given
    for name in named:
        if name != "all" and outside and name not in GIVEN_PARTS:
            refuse(f"--part {name}: needs servers that are started here; with --target and --server, expected one of {', '.join(GIVEN_PARTS)}")
        if name != "all" and client not in parts[name].clients:
            refuse(f"--part {name}: measured only {'with' if client == 'own' else 'without'} --kernel")
    able = [name for name, part in parts.items() if client in part.clients and (not outside or name in GIVEN_PARTS)]
    if named and "all" not in named:
        return list(dict.fromkeys(named))
    return able if named else [name for name in able if name in DEFAULT_PARTS]


DEFAULT_PARTS = ("requests-unbuffered", "requests-buffered", "requests-data", "requests-files", *GIVEN_PARTS)
