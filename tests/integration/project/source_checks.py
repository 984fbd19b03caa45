#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks on the source text itself: format, licence line, file size, borders of folders, names, spelling."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
LINE_LIMIT = 600
# Files that may be longer, each with its reason.
LONGER = {}
# Words of other programs and protocols that are no mistakes of ours.
NO_MISTAKES = ("filetest", "parm", "crate", "fro", "oder", "parms", "statics", "tread", "upto", "vresion")
SUBJECTS_SINCE = "a8a7e388f1f242362d0c204bc95ec6ccf729c2a7"  # subjects of commits up to this one are as they are
PROC_READERS = ("shim/proc_read.cpp", "shim/start_times.cpp", "shim/unseen_processes.cpp", "shim/command.cpp")

# Names of std:: by the header that declares them, for the headers of pch/common.hh.
DECLARED = {
    "algorithm": r"sort|stable_sort|min|max|clamp|min_element|max_element|lower_bound|upper_bound|equal_range|find|find_if|any_of|all_of|"
                 r"none_of|count|count_if|copy|copy_n|fill|fill_n|reverse|rotate|unique|remove_if|nth_element|binary_search|is_sorted|"
                 r"transform|shuffle|mismatch|push_heap|pop_heap|make_heap|ranges::(?!view)\w+",
    "array": r"array|to_array", "atomic": r"atomic\w*|memory_order\w*", "chrono": "chrono",
    "coroutine": r"coroutine_handle|suspend_\w+|noop_coroutine", "deque": "deque",
    "functional": "function|hash|greater|less|reference_wrapper|ref|cref|bind", "map": "map|multimap",
    "memory": "unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared",
    "mutex": "mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once", "optional": "optional|nullopt", "span": "span",
    "stdexcept": "runtime_error|invalid_argument|logic_error|out_of_range|length_error", "string": "string|to_string",
    "string_view": "string_view", "thread": "thread|jthread|this_thread", "unordered_map": "unordered_map|unordered_multimap",
    "utility": "pair|exchange", "vector": "vector",
}

failed = 0


def case(name, problems):
    global failed
    if problems:
        failed += 1
        print(f"not ok - {name}: {'; '.join(problems[:20])}")
    else:
        print(f"ok - {name}")


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read().splitlines()


def source_files():
    """Everything that belongs to the project: tracked, or new and not ignored. In a tree without git: all but build directories."""
    git = subprocess.run(["git", "-c", f"safe.directory={os.path.abspath(SOURCE)}", "ls-files", "-co", "--exclude-standard"],
                         cwd=SOURCE, capture_output=True, text=True, check=False)
    if git.returncode == 0:
        names = git.stdout.splitlines()
    else:
        names = []
        for folder, subfolders, files in os.walk(SOURCE):
            subfolders[:] = [s for s in subfolders if not s.startswith(("build", ".git"))]
            names += [os.path.relpath(os.path.join(folder, f), SOURCE) for f in files]
    return sorted(n for n in names if os.path.isfile(os.path.join(SOURCE, n)))


def folder_order():
    """Folders as docs/design.md lists them, lower to higher."""
    with open("docs/design.md", encoding="utf-8") as text:
        return re.findall(r"^\| `([a-z/-]+)/` \|", text.read(), re.M)


def folder_of(path, order):
    return max((f for f in order if path.startswith(f + "/")), key=len, default=None)


def includes(path):
    """Quoted includes of a file, as paths in the tree."""
    roots = [os.path.dirname(path), "capture-formats", "replay", "shim", "tools", "tools/fstrace", "tests", "tests/unit"]
    for n, line in enumerate(lines_of(path), 1):
        if found := re.match(r'#include "([^"]+)"', line):
            yield n, next((p for root in roots if os.path.exists(p := os.path.normpath(os.path.join(root, found[1])))), None)


def upward_includes(cpp):
    order = folder_order()
    for path in cpp:
        here = folder_of(path, order)
        for n, header in includes(path) if here else ():
            there = header and folder_of(header, order)
            if there and order.index(there) > order.index(here):
                yield f"{path}:{n} includes {header}"


def headers_not_included(cpp):
    """What compiles only because a precompiled header has it: neither the file nor a header of ours that it includes names it."""
    hidden = set(re.findall(r"^#include <([a-z_]+)>", "\n".join(lines_of("pch/common.hh")), re.M))
    if hidden != set(DECLARED):
        yield f"DECLARED and pch/common.hh differ in {', '.join(sorted(hidden ^ set(DECLARED)))}"
    text = {path: "\n".join(lines_of(path)) for path in cpp}
    ours = {path: [header for _, header in includes(path) if header in text] for path in cpp}
    theirs = {path: set(re.findall(r"^#include <([^>]+)>", text[path], re.M)) for path in cpp}
    uses = [(f"<{header}>", {header}, re.compile(rf"\bstd::(?:{names})\b")) for header, names in DECLARED.items()]
    uses.append(("<fmt/format.h>", {"fmt/format.h", "fmt/chrono.h", "fmt/ranges.h"}, re.compile(r"\bfmt::\w")))
    for path in cpp:
        seen, left = set(), [path]
        while left:
            if (header := left.pop()) not in seen:
                seen.add(header)
                left += ours[header]
        there = set().union(*(theirs[header] for header in seen))
        code = re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*', '""', text[path])
        for name, any_of, used in uses:
            if not any_of & there and used.search(code):
                yield f"{path} does not include {name}"


def types_named_twice(cpp):
    """Two definitions of one name in one namespace: a program that is linked of both would take one for the other."""
    seen = {}
    for path in cpp:
        if path.startswith("tests/"):
            continue
        spaces = []
        for n, line in enumerate(lines_of(path), 1):
            if found := re.match(r"(?:inline )?namespace ?([\w:]*) ?{(?!.*})", line):
                spaces.append(found[1])
            elif line.startswith("}  // namespace"):
                spaces.pop()
            elif (found := re.match(r"(?:struct|class|enum(?: class)?) (\w+)(?!\w|::)[^;]*{", line)) and "" not in spaces:
                name = "::".join((*spaces, found[1]))
                if name in seen:
                    yield f"{path}:{n} and {seen[name]} define {name}"
                seen[name] = f"{path}:{n}"


def benches_not_built():
    """The benches' programs that a build without tests, as the README makes it, does not know."""
    wanted = {re.search(r"/(\w+)\.cpp", f).group(1) for f in source_files() if re.fullmatch(r"tests/bench/\w+\.cpp", f)}
    wanted -= {"null_fuse", "libnfs_ops"}  # transport compiles the one, the other needs a library of its own
    with tempfile.TemporaryDirectory() as build:
        setup = subprocess.run(["meson", "setup", build, SOURCE, "-Dtests=false"], capture_output=True, text=True, check=False)
        if setup.returncode:
            return ["meson setup: " + setup.stdout[-200:]]
        targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    return sorted(wanted - set(re.findall(r"^tests/bench/(\w+):", targets, re.M)))


def threads_not_watched(cpp):
    """Unit tests of more than one thread in files that the TSan build leaves out."""
    listed = re.search(r"threaded_tests = files\((.*?)\)", "\n".join(lines_of("tests/unit/meson.build")), re.S)[1]
    return [f for f in cpp if f.startswith("tests/unit/") and any("[threads]" in line for line in lines_of(f))
            and f"'{os.path.basename(f)}'" not in listed]


def texts(files):
    """What people wrote, and no samples of other programs."""
    return [f for f in files if not f.startswith(("tests/data/", "tests/fuzz/corpora/")) and not f.endswith((".zst", ".png"))]


def complaints(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


def bad_subjects():
    """Commits whose subject is not "area: verb object" in 72 characters. None where the history is not there."""
    log = subprocess.run(["git", "log", "--no-merges", "--format=%h %s", f"{SUBJECTS_SINCE}..HEAD"], capture_output=True, text=True, check=False)
    commits = [line.split(" ", 1) for line in log.stdout.splitlines()]
    return [f"{commit} {subject}" for commit, subject in commits if len(subject) > 72 or not re.match(r"[\w.,() /-]+: \S", subject)]


def main():
    os.chdir(SOURCE)
    files = source_files()
    cpp = [f for f in files if f.endswith((".cpp", ".hpp"))]
    programs = cpp + [f for f in files if f.endswith((".py", ".sh"))]

    case("every source file names its licence",
         [f for f in programs if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines_of(f)[:3])])
    case(f"no source file is longer than {LINE_LIMIT} lines",
         [f"{f} has {len(lines_of(f))}" for f in programs if len(lines_of(f)) > LINE_LIMIT and f not in LONGER])
    case("every header has #pragma once",
         [f for f in cpp if f.endswith(".hpp") and "#pragma once" not in lines_of(f)])
    case("no source line promises something for later",
         [f"{f}:{n}" for f in programs if not f.endswith("source_checks.py")
          for n, line in enumerate(lines_of(f), 1) if any(word in line for word in ("TODO", "FIXME", "XXX:"))])

    # In a capture only proc_read.cpp, which reads what never waits, what runs in child processes that nobody waits for, and
    # command.cpp while the command waits for it.
    case("of other processes, /proc is read in one place",
         [f"{f}:{n}" for f in cpp if f.startswith("shim/") and f not in PROC_READERS
          for n, line in enumerate(lines_of(f), 1) if re.search(r'"/proc(?!/(self|net|sys)/)', line)])

    case("no folder includes one that docs/design.md lists above it", list(upward_includes(cpp)))
    case("a file includes what a precompiled header would hide", list(headers_not_included(cpp)))
    case("a name stands for one type", list(types_named_twice(cpp)))
    # gcc 12 may perform both.
    case("fmt::join comes from <fmt/ranges.h>, where fmt 11 has it",
         [f for f in cpp if "fmt::join" in (text := "".join(lines_of(f))) and "<fmt/ranges.h>" not in text])
    case("no co_await in a branch of ?:", [f"{f}:{n}" for f in cpp for n, line in enumerate(lines_of(f), 1)
                                           if re.search(r"\? *co_await|\?.* : *co_await", line)])

    case("test cases tagged [threads] are in the TSan build", threads_not_watched(cpp))
    case("benches are built by a build without tests", benches_not_built())
    case("subjects of commits are as CONTRIBUTING.md asks", bad_subjects())
    case("each row of a table in a page is one line", [f"{f}:{n}" for f in files if f.endswith(".md") for n, line in enumerate(lines_of(f), 1)
                                                       if line.startswith("|") and not line.endswith("|")])

    # Versions of clang-format disagree with each other; 14 is Debian 12's.
    tool = shutil.which("clang-format-14")
    if tool:
        run = subprocess.run([tool, "--dry-run", "-Werror"] + cpp, capture_output=True, text=True, check=False)
        case("clang-format 14 has nothing to change",
             sorted({line.split(": ")[0] for line in run.stderr.splitlines() if "error:" in line}) if run.returncode else [])
    else:
        print("clang-format 14 is not in this Debian release: format not checked")

    case("codespell finds no word that is misspelt", complaints("codespell", "-L", ",".join(NO_MISTAKES), *texts(files)))
    # SC2034, SC2154: variables of scripts that include each other.
    case("shellcheck has no warning", complaints("shellcheck", "-S", "warning", "-e", "SC2034,SC2154", "-f", "gcc",
                                                 *(f for f in texts(files) if re.match(r"#!.*sh$", (lines_of(f) or [""])[0]))))
    sys.exit(1 if failed else 0)


main()
