# SPDX-License-Identifier: Apache-2.0
"""Captures that are replayed while they go on, for the tests of fsreplay --live. The working directory is a scratch directory."""
import json
import os
import re
import shutil
import subprocess
import time

APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../apps")
# Uses what was there before, makes files, renames and removes them, by several processes; and pauses.
LOAD = """cd share
for w in 1 2 3; do (
    mkdir made$w
    for i in $(seq 60); do
        echo $w $i >made$w/f$i
        cat old/a$((i % 20)) >>made$w/all
        [ $((i % 7)) = 0 ] && rm made$w/f$((i - 1))
        [ $((i % 5)) = 0 ] && mv made$w/f$i made$w/g$i
    done
    sleep 1
    ls -l still >made$w/list; ls old/[ab]* >/dev/null
    echo more >>old/b$w; rm old/c$w; mv old/d$w moved$w; ln old/e made$w/link; ln -s ../old/e made$w/symlink
) & done; wait
rmdir old/empty; chmod 600 old/f
sqlite3 base 'create table t(a); insert into t values(1),(2)'
"""


def make_old(directory):
    os.makedirs(f"{directory}/old/empty")
    os.mkdir(f"{directory}/still")
    for name in "xyz":
        with open(f"{directory}/still/{name}", "w", encoding="ascii") as file:
            file.write(name * 2000)
    for name in [f"a{i}" for i in range(20)] + [f"{c}{i}" for c in "bcd" for i in (1, 2, 3)] + ["e", "f"]:
        with open(f"{directory}/old/{name}", "w", encoding="ascii") as file:
            file.write(name * 400)


def fresh():
    """The directory that is captured, as at first. The file that ends a load is away."""
    shutil.rmtree("share", ignore_errors=True)
    make_old("share")
    if os.path.exists("enough"):
        os.unlink("enough")


def live(target, *options, capture=(), load=LOAD, seconds=60):
    """Report of the replay, and what both said."""
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", *capture, "--", "sh", "-c", load], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=False) as shim:
        done = subprocess.run(["fsreplay", "-", target, "--live", "--lag", "1s", "--json", "-q", *options], stdin=shim.stdout,
                              capture_output=True, text=True, check=False, timeout=seconds)
        shim.stdout.close()
        said = shim.stderr.read().decode()
        status = shim.wait(timeout=30)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return status, done, report, said


def clean(report):
    """A run was clean, but for a busy machine."""
    return all("stood still" in reason for reason in report.get("not_clean", ["no report"]))


def alike(a, b, *options):
    return subprocess.run([f"{APPS}/compare-trees", *options, "--ignore", ".fsreplay", a, b], capture_output=True, text=True, check=False)


def server_url(directory, version):
    os.makedirs(f"{os.environ['NFS_VFS_DIR']}/{directory}")
    url = os.environ["NFS_VFS_URL"].replace("/vfs", f"/vfs/{directory}", 1).replace("version=3", f"version={version}")
    return re.sub("&mountport=[0-9]+", "", url) if version == "4.1" else url


def metric(file, name):
    """Sum of the samples of a metric; 0 if there is none yet."""
    try:
        with open(file, encoding="utf-8") as text:
            return sum(float(line.split()[-1]) for line in text if re.match(name + r"(_total)?[{ ]", line))
    except FileNotFoundError:
        return 0


def wait_for(what, process, seconds=30):
    deadline = time.monotonic() + seconds
    while not (seen := what()) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return seen or what()
