#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option that a program's or subcommand's --help names stands in its man page, and the other way round.

A man page names an option on a line that begins with it in bold, "*-o*, *--output* _FILE_". Options below a heading that contains
a subcommand's name belong to that subcommand, all others to every one that has them.
"""
import os
import re
import subprocess
import sys

SOURCE = os.environ["FSR_SOURCE"]
BUILD = os.environ["FSR_BUILD"]
PROGRAMS = {"fsbench": "tools/fsbench", "fsshim": "shim/fsshim", "fsreplay": "replay/fsreplay", "fstrace": "tools/fstrace"}
OPTION = re.compile(r"(?<![\w-])(--[a-z0-9][a-z0-9-]*|-[a-zA-Z0-9])(?![\w-])")
failed = 0


def case(name, problems):
    global failed
    if problems:
        failed += 1
        print(f"not ok - {name}: {'; '.join(problems)}")
    else:
        print(f"ok - {name}")


def help_of(program, subcommand=None):
    command = [program] + ([subcommand] if subcommand else []) + ["--help"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}: {run.stderr.strip()}")
    return run.stdout


def version_words(program, subcommand, options):
    """What of -V, --version and the word help does not do what it does without the subcommand."""
    def answer(*words):
        run = subprocess.run([program, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        return run.returncode, run.stdout
    short = [] if "-V" in options and subcommand == "lantest" else ["-V"]  # which is the original's own
    wrong = [word for word in short + ["--version"] if answer(subcommand, word) != answer("--version")]
    return wrong + (["help"] if answer("help", subcommand) != answer(subcommand, "--help") else [])


def help_options(text):
    found = set()
    for line in text.splitlines():
        if re.match(r"\s+-", line):
            found |= set(OPTION.findall(re.split(r"\s{2,}", line.strip())[0]))
    return found


def help_subcommands(text):
    found, inside = [], False
    for line in text.splitlines():
        if re.match(r"(sub)?commands:\s*$", line, re.I):
            inside = True
        elif inside and re.match(r"\S", line):
            inside = False
        elif inside and re.match(r" {1,4}[a-z]", line):
            found.append(line.split()[0])
    return found


def man_options(text, subcommands):
    """{subcommand or None: options}"""
    found, where = {}, [None]
    for line in text.splitlines():
        if line.startswith("#"):
            where = [s for s in subcommands if re.search(rf"\b{s}\b", line, re.I)] or [None]
        elif line.startswith("*-"):
            for section in where:
                found.setdefault(section, set()).update(OPTION.findall(line.replace("*", " ").replace("_", " ")))
    return found


for name, path in sorted(PROGRAMS.items()):
    program = os.path.join(BUILD, path)
    page = os.path.join(SOURCE, "docs", "man", f"{name}.1.scd")
    try:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        main_help = help_of(program)
        subcommands = help_subcommands(main_help)
        helps = {s: help_options(help_of(program, s)) for s in subcommands}
    except (OSError, RuntimeError) as error:
        case(f"{name}: man page and --help", [str(error)])
        continue
    helps[None] = help_options(main_help)
    manual = man_options(text, subcommands)
    common = manual.get(None, set())
    case(f"{name}: --help has 82 lines at most", [f"{len(main_help.splitlines())} lines"] if len(main_help.splitlines()) > 82 else [])
    wide = [line for text_of in [main_help] + [help_of(program, s) for s in subcommands] for line in text_of.splitlines() if len(line) > 80]
    case(f"{name}: --help has 80 columns", wide)
    case(f"{name}: --help says what options take", re.findall(r"^ +-.* (?:TEXT|UINT|INT|FLOAT)\b(?! +what to call).*", main_help, re.M))
    case(f"{name}: the man page has every subcommand", [s for s in subcommands if not re.search(rf"\*{s}\b|\*{name} {s}\b", text)])
    for sub, options in helps.items():
        title = f"{name} {sub}" if sub else name
        if sub:
            case(f"{title}: help and versions", version_words(program, sub, options))
        documented = manual.get(sub, set()) if sub else common
        stale = documented - options if sub else common - set().union(*helps.values())
        case(f"{title}: options of --help and man page agree",
             [f"{o} is not in the man page" for o in sorted(options - documented - common)]
             + [f"{o} is not in --help" for o in sorted(stale)])
sys.exit(1 if failed else 0)
