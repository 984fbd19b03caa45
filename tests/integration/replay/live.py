#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A capture that is replayed while it goes on: by a pipe, onto an empty directory, a copy and an NFS server, with readers and writers
that die."""
import contextlib
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
from live_runs import LOAD, alike, clean, fresh, live, server_url, wait_for  # noqa: E402
from lower_fs import Cases, Scratch, put_on_path  # noqa: E402

cases = Cases()
put_on_path()


def same(name, target, directory, *options, **how):
    status, done, report, said = live(target, *options, **how)
    cases.case(f"{name}: the capture ended well", status == 0, said)
    cases.case(f"{name}: every operation was issued, and the run is clean", done.returncode == 0 and report["issued"] > 1500,
               (done.returncode, done.stderr, report.get("not_clean"), report.get("mismatches", [])[:3]))
    compared = alike("share", directory, *(["--content"] if "--content" in how.get("capture", ()) else []))
    cases.case(f"{name}: the trees are alike", compared.returncode == 0, compared.stdout[-500:] + compared.stderr[-500:])
    return report


def text_of(file):
    with contextlib.suppress(FileNotFoundError), open(file, encoding="utf-8") as text:
        return text.read()
    return ""


def onto_directories():
    fresh()
    report = same("empty directory", "file:empty", "empty", "--page", "page.html")
    with open("page.html", encoding="utf-8") as page:
        cases.case("the page has the lag", "lag, p99" in page.read(), "")
    cases.case("the report tells how many files were made meanwhile", report.get("live", {}).get("files", 0) >= 31, report.get("live"))
    fresh()
    shutil.copytree("share", "copy", symlinks=True)
    report = same("copy", "file:copy", "copy", "--image", "trust", capture=("--content", "full"))
    cases.case("a copy gets nothing but the operations", not os.path.exists("copy/.fsreplay"), os.listdir("copy"))
    cases.case("a copy was not written before its use", report.get("live", {}).get("trusts") is True, report.get("live"))


def onto_server():
    for version in ("3", "4.1"):
        fresh()
        directory = f"live-{version}"
        same(f"NFSv{version}", server_url(directory, version), f"{os.environ['NFS_VFS_DIR']}/{directory}", "--allow", "inexpressible")


def three_times():
    """Three times the load: each operation is issued in three trees, which all become like the source, content included."""
    load = "cd share; cat old/[a-f]* still/* >/dev/null; cd ..;" + LOAD
    for name, target, directory, options in (("directories", "file:three", "three", ("--scale", "3x")), (
            "NFSv3", server_url("live-three", "3"), f"{os.environ['NFS_VFS_DIR']}/live-three", ("--clones", "3", "--allow", "inexpressible"))):
        fresh()
        status, done, report, said = live(target, *options, capture=("--content", "full"), load=load)
        cases.case(f"three times, {name}: clean, and each operation is issued three times", status == done.returncode == 0 and report["issued"] > 4500
                   and (report["issued"] + sum(kind["impossible"] for kind in report["kinds"].values())) % 3 == 0 and report["live"]["clones"] == 3,
                   (status, done.stderr, said[-300:], report.get("not_clean"), report.get("mismatches", [])[:3]))
        for n in range(3):
            compared = alike("share", f"{directory}/clone-{n}", "--content")
            cases.case(f"three times, {name}: clone {n} is like the source", compared.returncode == 0, compared.stdout[-500:] + compared.stderr[-500:])
        cases.case(f"three times, {name}: nothing is beside the clones", sorted(os.listdir(directory)) == [".fsreplay", "clone-0", "clone-1", "clone-2"], os.listdir(directory))


def copies():
    """Two copies of the captured directory, of which one lacks a file: its clone differs, and the other one does not. A target that lacks
    a copy, or has the captured directory in place of one, is refused."""
    fresh()
    for n in range(2):
        shutil.copytree("share", f"copies/clone-{n}", symlinks=True)
    os.unlink("copies/clone-1/old/a1")
    load = "cd share; for i in $(seq 10); do cat old/a1 >/dev/null; echo $i >new$i; cat old/a2 old/a3 >>all; done"
    status, done, report, said = live("file:copies", "--image", "trust", "--clones", "2", load=load)
    cases.case("copies: what one lacks differs there alone, once, with its consequences", status == 0 and done.returncode == 1 and report["differed"] == 1
               and report["live"]["diverged"] == 1 and 9 < report["live"]["consequences"] < 100,
               (said[-300:], report.get("differed"), report.get("live"), report.get("not_clean"), report.get("mismatches", [])[:4]))
    whole, lacking = alike("share", "copies/clone-0"), alike("share", "copies/clone-1")
    cases.case("copies: both get the changes", whole.returncode == 0 and lacking.stdout.count("\n") == 2 and "'old/a1'" in lacking.stdout, (whole, lacking))
    shim = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "touch", "share/again"], capture_output=True, check=False, timeout=30)
    os.mkdir("copies/clone-2")
    subprocess.run(["mount", "--bind", "share", "copies/clone-2"], check=True)
    for clones, words in (("3", "clone-2: Invalid cross-device link"), ("4", "clone-2: Not a directory"), ("5", "clone-4: No such file")):
        if clones == "4":
            subprocess.run(["umount", "copies/clone-2"], check=True)
            os.rmdir("copies/clone-2")
            os.symlink(os.path.abspath("share"), "copies/clone-2")
        elif clones == "5":
            os.unlink("copies/clone-2")
            for n in (2, 3):
                os.mkdir(f"copies/clone-{n}")
        done = subprocess.run(["fsreplay", "-", "file:copies", "--live", "--lag", "500ms", "-q", "--image", "trust", "--clones", clones], input=shim.stdout,
                              capture_output=True, check=False, timeout=30)
        cases.case(f"{clones} copies, of which some are not there, are refused", done.returncode == 2 and words in done.stderr.decode()
                   and done.stderr.count(b"\n") == 1 and not os.path.exists("copies/clone-0/again"), done)


def resyncs():
    """A directory that goes missing on the target is made again when it is used, and the differences are counted."""
    load = """cd share; mkdir lost; for i in $(seq 5); do echo $i >lost/f$i; done; ls -l lost still >/dev/null
while [ ! -e ../removed ]; do read x <old/a1; sleep 0.01; done
while [ ! -e ../enough ]; do echo more >lost/f$((++i % 5 + 1)); cat still/x >/dev/null; sleep 0.05; done"""
    fresh()
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "bash", "-c", load], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shim:
        replay = subprocess.Popen(["fsreplay", "-", "file:again", "--live", "--lag", "500ms", "--resync", "--page", "resync.html", "--json", "-q"], stdin=shim.stdout,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shim.stdout.close()
        wait_for(lambda: os.path.exists("again/lost/f5") and os.path.exists("again/still/z"), replay)
        for name in ("lost", "still"):
            shutil.rmtree(f"again/{name}")
        with open("removed", "wb"):
            pass
        wait_for(lambda: all(os.path.exists(f"again/{name}") for name in ("lost/f1", "lost/f2", "lost/f3", "lost/f4", "lost/f5", "still/x")), replay)
        reasons = re.compile("Still running. Not clean so far: [^<]* outcomes differed")
        told = wait_for(lambda: reasons.search(text_of("resync.html")), replay)
        with open("enough", "wb"):
            pass
        out, said = replay.communicate(timeout=60)
        shim.wait(timeout=30)
    report = json.loads(out or "{}")
    cases.case("the page says why the run is not clean so far, and later why it was not", told and not re.search("[0-9],[0-9]{3},[0-9]{3}", told[0]) and "Still running" not in text_of("resync.html")
               and "Not clean: " in text_of("resync.html"), text_of("resync.html")[:300])
    cases.case("resync: differences are counted", replay.returncode == 1 and report["differed"] > 0, (said, report.get("not_clean")))
    lost = {name: os.listdir(f"again/{name}") if os.path.exists(f"again/{name}") else None for name in ("lost", "still")}
    cases.case("resync: what went missing is made again", sorted(lost["lost"] or []) == [f"f{i}" for i in range(1, 6)] and "x" in (lost["still"] or []), lost)


def not_issued():
    """The page of a run that goes on counts what was not issued, and no more than that."""
    fresh()
    shutil.copytree("share", "looked-at", symlinks=True)
    load = "cd share; for i in 1 2 3; do mkdir n$i; done; while [ ! -e ../enough ]; do read x <old/a1; ls n1 >/dev/null; sleep 0.05; done"
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "bash", "-c", load], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shim:
        replay = subprocess.Popen(["fsreplay", "-", "file:looked-at", "--live", "--lag", "500ms", "--image", "trust", "--read-only", "--page", "looked-at.html", "--json", "-q"],
                                  stdin=shim.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shim.stdout.close()
        reasons = re.compile("Still running. Not clean so far: ([^<]*)")
        counted = re.compile("[0-9]+ operations that the target can't express were not issued")
        wait_for(lambda: counted.search(html.unescape(text_of("looked-at.html"))), replay)
        told = reasons.search(html.unescape(text_of("looked-at.html")))
        with open("enough", "wb"):
            pass
        out, said = replay.communicate(timeout=60)
        shim.wait(timeout=30)
    cases.case("the page says what was not issued so far", told and counted.search(told[1]) and not re.search("[0-9],[0-9]{3},[0-9]{3}", told[1]) and replay.returncode == 4,
               (told and told[1], replay.returncode, out[-200:], said))


def walks():
    """A tree that is walked for longer than a window: names that a listing showed are used later. A second name of a known file shows."""
    fresh()
    for i in range(20):
        os.makedirs(f"share/walk/d{i}")
        with open(f"share/walk/d{i}/file", "w", encoding="ascii") as file:
            file.write("x" * 5000)
    os.link("share/walk/d1/file", "share/walk/d2/second")
    load = """cd share; python3 - <<'END'
import os, time
for name in sorted(os.listdir("walk")):
    time.sleep(0.1)
    for file in os.listdir("walk/" + name):
        with open(f"walk/{name}/{file}", "rb") as f:
            assert len(f.read()) == 5000
END
echo more >>walk/d2/second; mv walk/d3 walk/moved; for i in $(seq 500); do echo $i >n$i; done"""
    shutil.rmtree("share/old")
    shutil.rmtree("share/still")
    same("a long walk", "file:walked", "walked", load=load, capture=("--content", "full"))


def own_server():
    fresh()
    shim = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "true"], capture_output=True, check=False, timeout=30)
    own = ("localhost", "127.0.0.1", "127.0.0.2", "0.0.0.0", "[::ffff:127.0.0.1]")
    for server in [f"nfs://{name}/anything" for name in own] + ["9p+unix:///nowhere"]:
        done = subprocess.run(["fsreplay", "-", server, "--live", "--image", "trust"], input=shim.stdout, capture_output=True,
                              check=False, timeout=30)
        cases.case(f"trust on the captured host is refused: {server}", done.returncode == 2 and b"on the host of the capture" in done.stderr, done)


def other_name():
    """The captured directory, one in it and one that holds it, by names of another mount."""
    fresh()
    shim = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "true"], capture_output=True, check=False, timeout=30)
    os.mkdir("alias")
    os.mkdir("beside")
    for mounted, target in (("share", "alias"), ("share/old", "alias"), ("share/old", "alias/new"), (".", "alias"), ("beside", "alias")):
        subprocess.run(["mount", "--bind", mounted, "alias"], check=True)
        for image in ("trust", "lazy"):
            done = subprocess.run(["fsreplay", "-", f"file:{target}", "--live", "--lag", "500ms", "-q", "--image", image], input=shim.stdout,
                                  capture_output=True, check=False, timeout=30)
            refused = done.returncode == 2 and b"is, contains or lies in" in done.stderr and done.stderr.count(b"\n") == 1
            cases.case(f"{mounted} as {target} is {'accepted' if mounted == 'beside' else 'refused'}, {image}",
                       refused == (mounted != "beside") and not os.path.exists("share/old/new"), done)
        subprocess.run(["umount", "alias"], check=True)


def overlay():
    """The captured directory by way of an overlay, and the other way round."""
    os.mkdir("layers")
    subprocess.run(["mount", "-t", "tmpfs", "layers", "layers"], check=True)
    for name in ("lower", "upper", "work", "merged", "other"):
        os.mkdir(f"layers/{name}")
    subprocess.run(["mount", "-t", "overlay", "-o", "lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work", "overlay", "layers/merged"],
                   check=True)
    for captured, target in (("merged", "upper"), ("merged", "lower"), ("upper", "merged"), ("merged", "other")):
        shim = subprocess.run(["fsshim", "capture", f"layers/{captured}", "-o", "-", "--", "true"], capture_output=True, check=False, timeout=30)
        done = subprocess.run(["fsreplay", "-", f"file:layers/{target}", "--live", "--lag", "500ms", "-q", "--image", "trust"], input=shim.stdout,
                              capture_output=True, check=False, timeout=30)
        refused = done.returncode == 2 and b"is, contains or lies in" in done.stderr
        cases.case(f"an overlay: {captured} is captured, {target} is {'accepted' if target == 'other' else 'refused'}", refused == (target != "other"), done)
    subprocess.run(["umount", "layers/merged"], check=True)
    subprocess.run(["umount", "layers"], check=True)


def fuse_server():
    """The captured directory by way of a FUSE server (bindfs), which shows it with another device, and the other way round."""
    fresh()
    os.mkdir("through")
    os.mkdir("apart")
    captured_one, another_name = b"is, contains or lies in", b"may be the captured directory by another name"
    for mounted, captured, target, lazy, trust in (("share", "share", "through", captured_one, captured_one), ("share/old", "share", "through/new", captured_one, captured_one),
                                                   ("share", "through", "share", captured_one, captured_one), ("apart", "share", "through", b"", another_name),
                                                   ("share", "share/old", "through/beside", b"", another_name)):
        subprocess.run(["bindfs", mounted, "through"], check=True)
        shim = subprocess.run(["fsshim", "capture", captured, "-o", "-", "--", "true"], capture_output=True, check=False, timeout=30)
        for image, words in (("lazy", lazy), ("trust", trust)):
            done = subprocess.run(["fsreplay", "-", f"file:{target}", "--live", "--lag", "500ms", "-q", "--image", image], input=shim.stdout,
                                  capture_output=True, check=False, timeout=30)
            cases.case(f"bindfs of {mounted}: {captured} is captured, {target} is {'refused' if words else 'accepted'}, {image}",
                       done.returncode == (2 if words else 0) and words in done.stderr and not os.path.exists("share/old/new"), done)
        subprocess.run(["umount", "through"], check=True)


def says_nothing_of_itself():
    """A trace that does not say which directory it captured: no copy is trusted without --force, and an empty target gets it."""
    fresh()
    with open("strace", "w", encoding="ascii") as file:
        file.write(f"7 1700000000.000000 openat(AT_FDCWD, \"{os.getcwd()}/share/made\", O_WRONLY|O_CREAT, 0644) = 3 <0.000100>\n"
                   "7 1700000000.001000 write(3, \"x\", 1) = 1 <0.000100>\n7 1700000000.002000 close(3) = 0 <0.000100>\n")
    subprocess.run(["fstrace", "import", "strace", "-o", "nothing.zst", "--directory", f"{os.getcwd()}/share"], check=True, capture_output=True)
    for target, image, words in (("share", "trust", "does not say which directory"), ("alone", "lazy", "")):
        with open("nothing.zst", "rb") as file:
            done = subprocess.run(["fsreplay", "-", f"file:{target}", "--live", "--lag", "500ms", "-q", "--image", image], stdin=file, capture_output=True, text=True,
                                  check=False, timeout=30)
        cases.case(f"an imported trace, {image}: {'refused' if words else 'accepted'}", done.returncode == (2 if words else 0) and words in done.stderr
                   and not os.path.exists("share/made"), done)


def ends_at_a_difference():
    """--on-error stop ends at the first difference, whether the operation failed or not, and not at its consequences."""
    load = "cd share; for i in $(seq 20); do cat old/a1 >/dev/null; cat old/a3 >/dev/null; sleep 0.05; done; echo x >new; cat new; touch last"
    for name, words in (("lacking", "the first operation that failed"), ("odd", "the first outcome that differed")):
        fresh()
        shutil.copytree("share", f"stop-{name}", symlinks=True)
        if name == "lacking":
            os.unlink("stop-lacking/old/a1")
        else:
            os.truncate("stop-odd/old/a1", 5)
        _, done, report, _ = live(f"file:stop-{name}", "--image", "trust", "--on-error", "stop", load=load)
        cases.case(f"--on-error stop, {name}: the run ends at the first difference and says so", done.returncode == 1 and words in str(report.get("not_clean"))
                   and 0 < report["differed"] < 3 and not os.path.exists(f"stop-{name}/last"), (report.get("not_clean"), report.get("mismatches")))
    fresh()
    shutil.copytree("share", "stop-not", symlinks=True)
    _, done, report, _ = live("file:stop-not", "--image", "trust", "--read-only", "--on-error", "stop", load=load + "; cat old/a2 >/dev/null")
    cases.case("--on-error stop: what follows from operations that were not issued ends nothing", done.returncode == 4 and report["followed"] > 0
               and report["differed"] == 0 and "--on-error" not in str(report.get("not_clean")), (report.get("not_clean"), report.get("mismatches")))


def slow_ends():
    """A lock that is waited for longer than the lag, and a run that --duration ends while nothing comes."""
    fresh()
    status, done, report, said = live("file:locked", load="""cd share; flock old/e sleep 1.5 & sleep 0.3; flock old/e true; wait
for i in $(seq 500); do echo $i >n$i; done""")
    cases.case("a lock that is waited for is replayed", status == 0 and done.returncode in (0, 1) and report["differed"] == 0,
               (said, done.stderr, report.get("not_clean")))
    fresh()
    begin = time.monotonic()
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "sh", "-c", "echo x >share/n1; sleep 12"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as shim:
        subprocess.run(["fsreplay", "-", "file:short", "--live", "--lag", "500ms", "--duration", "1s", "-q"], stdin=shim.stdout,
                       capture_output=True, check=False, timeout=30)
        took = time.monotonic() - begin
        shim.stdout.close()
        shim.send_signal(signal.SIGTERM)
        shim.wait(timeout=30)
    cases.case("--duration ends a run to which nothing comes", took < 8, took)


def open_at_the_start():
    """A stream that begins with open files and a lock: the lock keeps others out as it did, and what is open is written to."""
    fresh()
    load = """cd share; exec 5>>old/b1 6>>old/e 7<>gone; rm gone; flock 6; sleep 0.5; touch middle; sleep 0.5
for i in $(seq 30); do echo $i >&5; echo $i >&7; flock -n old/e true && exit 9; done; cat old/a[1-9] >/dev/null; echo x >>old/f; mv old/c1 old/g"""
    subprocess.run(["fsshim", "capture", "share", "-o", "open.zst", "--content", "full", "--", "bash", "-c", load], check=True, capture_output=True, timeout=30)
    subprocess.run(["fstrace", "cut", "open.zst", "-o", "cut.zst", "--from", "300ms"], check=True, capture_output=True, timeout=30)
    os.unlink("open.mix")
    for clones, trees in ((1, ["opened"]), (2, ["twice/clone-0", "twice/clone-1"])):
        with open("cut.zst", "rb") as file:
            done = subprocess.run(["fsreplay", "-", f"file:{trees[0].split('/')[0]}", "--live", "--lag", "500ms", "--clones", str(clones), "--json", "-q"], stdin=file,
                                  capture_output=True, text=True, check=False, timeout=60)
        report = json.loads(done.stdout or "{}")
        cases.case(f"what was open and locked at the start is when it is first used, {clones} times", clean(report) and report["issued"] > 200 * clones,
                   (done.returncode, done.stderr, report.get("not_clean"), report.get("mismatches", [])[:3]))
        for tree in trees:
            with open("share/old/b1", "rb") as was, open(f"{tree}/old/b1", "rb") as file:  # what was there before is invented
                cases.case(f"a file that was open at the start is written to, {tree}", was.read()[-60:] == file.read()[-60:], report.get("live"))
            cases.case(f"a file that had lost its name is not left behind, {tree}", not [name for name in os.listdir(tree) if name.startswith(".fsreplay-")], os.listdir(tree))
    cases.case("the lag counts from the arrival if the trace does not tell when it began", report.get("live", {}).get("lag_from") == "arrival", report.get("live"))


def differs_once():
    """A file that the target lacks is one difference; what follows from it is counted apart."""
    fresh()
    shutil.copytree("share", "lacking", symlinks=True)
    os.unlink("lacking/old/a1")
    os.unlink("lacking/old/a2")
    status, done, report, said = live("file:lacking", "--image", "trust", load="cd share; for i in $(seq 20); do cat old/a1 >/dev/null; cat old/a2 old/a3 >/dev/null; ls -l old/a1; done >/dev/null")
    part = report.get("live", {})
    cases.case("a missing file is one difference", status == 0 and done.returncode == 1 and report["differed"] == 2 and part.get("diverged") == 2,
               (said, report.get("differed"), part, report.get("not_clean"), report.get("mismatches", [])[:4]))
    cases.case("what follows from it is counted apart", part.get("consequences", 0) > 40 and report["followed"] == part["consequences"]
               and "as a consequence of earlier differences" in str(report.get("not_clean")), (report.get("followed"), part))
    cases.case("the lag counts from when operations started", part.get("lag_from") == "start", part)


def pipe_alone():
    fresh()
    with open("whole.zst", "wb") as file:
        done = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "sh", "-c", "cat share/old/a1; echo said"], stdout=file,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=30)
    verified = subprocess.run(["fstrace", "verify", "whole.zst"], capture_output=True, text=True, check=False)
    cases.case("what comes by standard output is a whole trace", done.returncode == 0 and verified.returncode == 0, verified)
    cases.case("what the command prints goes to standard error", "said\n" in done.stderr and "a1a1" in done.stderr, done.stderr[-200:])
    cases.case("no mixfile is written", not [name for name in os.listdir(".") if name.endswith(".mix")], os.listdir("."))
    for stdout, stderr, words in ((subprocess.PIPE, subprocess.STDOUT, "would get into the trace"), (subprocess.DEVNULL, subprocess.PIPE, "expected a pipe")):
        done = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "true"], stdout=stdout, stderr=stderr, text=True, check=False, timeout=30)
        cases.case(f"refused: {words}", done.returncode == 2 and words in (done.stdout or "") + (done.stderr or ""), done)
    for options, words in ((("--rotate", "1M"), "a stream has no pieces"), (("--background",), "not possible with --background"),
                           (("--block-time", "5ms"), "expected 10ms to 1s")):
        done = subprocess.run(["fsshim", "capture", "share", "-o", "-", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=30)
        cases.case(f"{options[0]} is refused", done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done)
    os.mkfifo("fifo")
    done = subprocess.run(["fsshim", "capture", "share", "-o", "fifo", "--", "true"], capture_output=True, text=True, check=False, timeout=30)
    cases.case("a named pipe is refused with what to do", done.returncode == 2 and "fifo: is a pipe; lead standard output into it" in done.stderr, done)
    ours, theirs = socket.socketpair()  # as sshd gives it to a command
    with ours, open("socket.zst", "wb") as file:
        done = subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--block-time", "20ms", "--", "sh", "-c", "cat share/old/a1; sleep 0.1; cat share/old/a2"],
                                stdout=theirs, stderr=subprocess.PIPE)
        theirs.close()
        while part := ours.recv(1 << 16):
            file.write(part)
        said = done.stderr.read()
    verified = subprocess.run(["fstrace", "verify", "socket.zst"], capture_output=True, text=True, check=False)
    cases.case("a socket takes the trace as a pipe does", done.wait(timeout=30) == 0 and verified.returncode == 0, (said, verified))
    with open("share/inside", "wb") as file:
        done = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "true"], stdout=file, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=30)
    cases.case("a file in the captured directory is refused", done.returncode == 2 and "inside the captured directory" in done.stderr, done)
    with open("whole.zst", "ab") as file:
        done = subprocess.run(["fsshim", "capture", "share", "-o", "-", "--", "true"], stdout=file, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=30)
    cases.case("a file that holds something is refused", done.returncode == 2 and "expected an empty file" in done.stderr, done)


def reader_dies():
    """Applications go on, unrecorded, and the capture says so at its end."""
    fresh()
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "sh", "-c",
                           "for i in $(seq 100); do echo $i >share/n$i || exit 9; sleep 0.01; done"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
        deadline = time.monotonic() + 20
        while not os.path.exists("share/n5") and time.monotonic() < deadline:
            time.sleep(0.02)
        shim.stdout.close()
        said = shim.stderr.read().decode()
        status = shim.wait(timeout=30)
    cases.case("a reader that dies harms no application", os.path.exists("share/n100"), os.listdir("share")[:5])
    cases.case("and makes the capture fail with a line", status == 1 and "not complete" in said, (status, said))


def reader_stands():
    """A reader that takes nothing: operations are dropped, applications do not wait for it."""
    fresh()
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--content", "full", "--ring", "100ms", "--", "sh", "-c",
                           "for i in $(seq 20); do head -c 4M /dev/urandom >share/n$i || exit 9; done"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
        begin = time.monotonic()
        while not os.path.exists("share/n20") and time.monotonic() - begin < 30:
            time.sleep(0.1)
        took = time.monotonic() - begin
        data = b""
        while part := shim.stdout.read(1 << 20):
            data += part
        said = shim.stderr.read().decode()
        status = shim.wait(timeout=60)
    cases.case("applications do not wait for a reader that stands still", took < 25, took)
    with open("part.zst", "wb") as file:
        file.write(data)
    verified = subprocess.run(["fstrace", "verify", "part.zst"], capture_output=True, text=True, check=False)
    cases.case("what was dropped is counted", status == 1 and "dropped" in said and "were not recorded" in verified.stdout + verified.stderr,
               (status, said, verified.stdout[-300:]))


def writer_dies():
    fresh()
    shim = subprocess.Popen(["fsshim", "capture", "share", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        replay = subprocess.Popen(["fsreplay", "-", "file:cut", "--live", "--lag", "500ms", "--json", "-q"], stdin=shim.stdout,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shim.stdout.close()
        deadline = time.monotonic() + 20
        while not os.path.ismount("share") and time.monotonic() < deadline:
            time.sleep(0.05)
        for i in range(20):
            with open(f"share/n{i}", "w", encoding="ascii") as file:
                file.write("x")
        deadline = time.monotonic() + 10
        while not os.path.exists("cut/n19") and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        cases.case("what is done is replayed while the capture goes on, although nothing comes after it",
                   os.path.exists("cut/n19") and os.path.getsize("cut/n19") == 1, os.listdir("cut"))
        shim.send_signal(signal.SIGKILL)
        shim.wait(timeout=20)
        out, said = replay.communicate(timeout=30)
    finally:
        shim.kill()
        subprocess.run(["umount", "-l", "share"], check=False, capture_output=True)
    report = json.loads(out or "{}")
    cases.case("a stream that breaks off is told, with status 1",
               replay.returncode == 1 and "closing statement is missing" in str(report.get("not_clean")), (out[-300:], said))


def wrong_input():
    for name, data, words in (("no trace", b"hello, this is no trace at all", "expected a trace"), ("nothing", b"", "expected a trace")):
        done = subprocess.run(["fsreplay", "-", "file:never", "--live"], input=data, capture_output=True, check=False, timeout=30)
        cases.case(f"{name} is refused with a line", done.returncode == 2 and words in done.stderr.decode() and done.stderr.count(b"\n") == 1, done)
    with open("whole.zst", "rb") as file:
        whole = file.read()
    broken = bytearray(whole)
    broken[len(broken) // 2] ^= 255
    done = subprocess.run(["fsreplay", "-", "file:broken", "--live", "--lag", "500ms"], input=bytes(broken), capture_output=True, check=False, timeout=30)
    cases.case("a damaged stream ends with status 1 or 2 and its place", done.returncode in (1, 2) and b"at byte" in done.stdout + done.stderr, done)
    for options, words in ((("--lag", "1ms"), "expected 500ms to 1m"), (("--scale", "1.5x"), "a whole number of times"), (("--image", "odd"), "lazy or trust"),
                           (("--clones", "2", "--scale", "2x"), "leave one of them out"), (("--scale", "0.5x"), "a whole number of times"), (
                           ("--clones", "101"), "expected at most 100"), (("--ranks", "2"), "leave the ranks out"), (("--lag-max", "1s"), "expected more than --lag"),
                           (("--lag", "1m", "--read-only"), "add --image trust"),
                           (("--read-only",), "add --image trust"), (("--resync", "--image", "trust"), "leave one of them out")):
        done = subprocess.run(["fsreplay", "whole.zst", "file:never", "--live", *options], capture_output=True, text=True, check=False, timeout=30)
        cases.case(f"{' '.join(options)} is refused", done.returncode == 2 and words in done.stderr, done)


hostile.beside("ganesha")
with Scratch() as scratch:
    os.chdir(scratch.path)
    for part in (onto_directories, onto_server, three_times, copies, resyncs, not_issued, walks, own_server, other_name, overlay, fuse_server, says_nothing_of_itself, ends_at_a_difference, slow_ends, open_at_the_start, differs_once, pipe_alone, reader_dies, reader_stands, writer_dies, wrong_input):
        part()
sys.exit(cases.status())
