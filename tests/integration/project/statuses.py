#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/statuses.md: at least one command for each row of the table ends with the row's status, and the worst status that applies wins."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, SOURCE, case, failed, run, scratch  # noqa: E402

ALL = "all"
LIST = "fsshim list, check, stop, rotate, abort"
ASK = "fsshim list, stop, rotate, abort"
COMMAND = "fsshim capture -- COMMAND"
REPLAY, SEARCH, DRIVE, DRY_RUN = "fsreplay", "fsreplay --find-scale", "fsreplay target", "fsreplay --dry-run"
COMPARE = "fsbench compare"
CONFIG = "set number 5\nset transactions 5\n"

# (status of the row, programs of the row, what happens, command). Run in order by a shell, in one directory.
CASES = [
    (0, "fsshim capture", "a capture", "fsshim capture d -o t.zst -- true"),
    (0, "fsshim capture", "the command's status", "fsshim capture d -o own.zst -- sh -c 'exit 7'", 7),
    (0, LIST, "list", "fsshim list"),
    (0, LIST, "check", "fsshim check d"),
    (0, LIST, "rotate, stop", "fsshim capture d -o back.zst --background && fsshim rotate d && fsshim stop d"),
    (0, LIST, "abort", "fsshim capture d -o lost.zst --background && fsshim abort d"),
    (0, REPLAY, "a replay", "fsreplay app.zst memory: -q"),
    (0, REPLAY, "--allow", "fsreplay device.zst t1 -q --allow inexpressible"),
    (0, "fsbench", "postmark", "fsbench postmark good.pm"),
    (0, "fstrace", "info", "fstrace info app.zst"),
    (0, "fstrace", "verify", "fstrace verify app.zst"),
    (0, "fstrace", "help, -V", "fstrace help dump | grep -q -- --json && fsshim help capture && fsbench help && fsreplay help && fstrace -V"),
    (0, "fstrace", "compare", "fstrace compare app.zst app.zst"),
    (1, "fsshim capture", "the trace is removed", "fsshim capture d -o gone.zst -- rm gone.zst"),
    (1, ASK, "stop of nothing", "fsshim stop d"),
    (1, ASK, "rotate of nothing", "fsshim rotate d"),
    (1, ASK, "abort of nothing", "fsshim abort d"),
    (1, ASK, "list onto a full disk", "fsshim list --json >/dev/full"),
    (1, REPLAY, "another outcome", "fsreplay app.zst full --force -q"),
    (1, REPLAY, "a full disk", "fsreplay app.zst memory: >/dev/full"),
    (1, SEARCH, "no load satisfies it", "fsreplay mix:sfs97-v3 null: -q --load 1000 --duration 100ms --find-scale 'p99 < 1ns'"),
    (1, DRIVE, "no such file", "fsreplay target cat file:d missing"),
    (1, "fsbench", "a wrong command before a run", "fsbench postmark bad.pm"),
    (1, COMPARE, "a program ends with 1", "fsbench compare d --rounds 1 -- postmark bad.pm"),
    (1, "fstrace", "a cut trace", "fstrace verify cut.zst"),
    (1, "fstrace", "traces differ", "fstrace compare app.zst device.zst --tolerance mix=0.01"),
    (1, "fstrace", "a full disk", "fstrace dump app.zst >/dev/full"),
    (2, ALL, "fsshim: no such option", "fsshim capture d --frobnicate"),
    (2, ALL, "fsshim: no such directory", "fsshim capture missing -o m.zst"),
    (2, ALL, "fsshim: the trace exists", "fsshim capture d -o t.zst -- true"),
    (2, ALL, "fsreplay: no such trace", "fsreplay missing.zst memory:"),
    (2, ALL, "fsreplay: no such target", "fsreplay app.zst gopher://x/"),
    (2, ALL, "fsreplay: no server", "fsreplay app.zst 'nfs://127.0.0.1:9/export?version=3&nfsport=9&mountport=9'"),
    (2, ALL, "fsreplay target: no such directory", "fsreplay target ls file:missing"),
    (2, ALL, "fstrace: no such trace", "fstrace info missing.zst"),
    *[(2, ALL, f"fsbench: no such directory for {words.split()[0]}", f"fsbench {words}") for words in
      ("nhfsstone -l 10 -t 1 missing", "bonnie -d missing -s 0 -n 1", "lantest missing", "nfstest 1 1 missing", "postmark missing.pm",
       "vdbench -f missing.vdb", "compare missing -- postmark good.pm", "compare missing d -- postmark good.pm")],
    (2, ALL, "fsbench: PostMark's commands name no directory that exists", "fsbench postmark nowhere.pm"),
    (3, "fsreplay, fsbench compare", "a mix", "fsreplay mix:sfs97-v3 null: -q --calls 1000 --load max --require 'achieved >= 1000000000000/s'"),
    (3, "fsreplay, fsbench compare", "beside other outcomes", "fsreplay app.zst full --force -q --require 'differed == 0'"),
    (3, "fsreplay, fsbench compare", "a program", "fsbench compare d --rounds 1 --require 'transactions >= 1e9' -- postmark good.pm"),
    (4, REPLAY, "a device", "fsreplay device.zst t2 -q"),
    (4, DRY_RUN, "a device", "fsreplay device.zst t3 -q --dry-run"),
    (126, COMMAND, "no program", "fsshim capture d -o n.zst -- ./good.pm"),
    (127, COMMAND, "no file", "fsshim capture d -o n.zst -- frobnicate"),
    (128, COMMAND, "killed", "fsshim capture d -o k.zst -- sh -c 'kill -9 $$'", 128 + 9),
]


def prepare():
    for name, text in (("good.pm", f"{CONFIG}run\nquit\n"), ("bad.pm", f"set size banana\n{CONFIG}run\nquit\n"),
                       ("nowhere.pm", f"set location missing\n{CONFIG}run\nquit\n")):
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
    os.mkdir("d")
    os.mkdir("full")
    with open("full/s", "w", encoding="ascii") as file:
        file.write("in the way")
    for trace, script in (("app.zst", "mkdir d/s; for i in 1 2 3 4; do echo hi >d/s/f; cat d/s/f; mv d/s/f d/s/g$i; done"), ("device.zst", "mknod d/c c 1 7")):
        done = run("fsshim", "capture", "d", "-o", trace, "--", "sh", "-c", script)
        if done.returncode:
            raise RuntimeError(f"{trace}: {done.stderr}")
        run("sh", "-c", "rm -rf d/*")
    with open("app.zst", "rb") as whole, open("cut.zst", "wb") as cut:
        cut.write(whole.read()[:-200])


def main():
    with open(f"{SOURCE}/docs/statuses.md", encoding="utf-8") as page:
        rows = re.findall(r"^\| (\d+)(?: \+ N)? \| ([^|]+) \|", page.read(), re.M)
    rows = {(int(status), programs.replace("`", "").strip()) for status, programs in rows}
    tried = {(status, programs) for status, programs, *_ in CASES}
    case("each row of the table has a case", rows and rows <= tried, rows - tried)
    case("each case has a row", tried <= rows, tried - rows)
    os.environ["PATH"] = os.pathsep.join([f"{BUILD}/{folder}" for folder in ("shim", "replay", "tools")] + [os.environ["PATH"]])
    with scratch(in_memory=True):
        prepare()
        for status, programs, what, command, *own in CASES:
            begun = time.monotonic()
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
            want = own[0] if own else status
            case(f"{want}: {programs}: {what}", done.returncode == want, (command, done.returncode, done.stdout[-300:], done.stderr[-300:]))
            if os.environ.get("SHOW_TIMES"):
                print(f"{time.monotonic() - begun:.2f} s {command}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
