#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mount options of the captured directory, and file systems mounted inside it: answers with and without the shim.

usage: shim_mounts.py            all of it
       shim_mounts.py --in DIR WHAT    answers of one directory (what the former runs)
"""
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/probes"]
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program, take_descriptors  # noqa: E402
from probe_tools import as_user, attempt, bind_mapped, get, put  # noqa: E402

# Asks for the effective user: differs from the real one only where set-id bits count.
WHO = "int geteuid(void);int printf(const char*,...);int main(void){return printf(\"%d\\n\",geteuid())<0;}"


def options(directory):
    """What the options of one mount decide."""
    os.chdir(directory)
    answers = {"make": attempt(put, "new"), "remove": attempt(os.unlink, "f"), "mode": attempt(os.chmod, "f", 0o600),
               "writable": os.access("f", os.W_OK), "open": attempt(os.open, "f", os.O_WRONLY) != 0,
               "device": isinstance(attempt(os.open, "null", os.O_RDONLY), int),
               "run": attempt(lambda: subprocess.run(["./who"], stdout=subprocess.PIPE, check=False).stdout),
               "run as user": as_user(1000, lambda: subprocess.run(["./who"], stdout=subprocess.PIPE, check=False).stdout),
               "flags": os.statvfs(".").f_flag & (os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC)}
    return {name: repr(answer) for name, answer in answers.items()}


def inside(directory):
    """A tree with other file systems in it."""
    os.chdir(directory)
    seen = {}
    for top, folders, files in os.walk("."):
        for name in folders + files:
            s = os.lstat(f"{top}/{name}")
            seen.setdefault((s.st_dev, s.st_ino), set()).add(f"{top}/{name}")
    for entry in os.scandir("other"):
        seen.setdefault("entry " + entry.name, entry.inode() == os.lstat(entry.path).st_ino)
    put("other/x", b"in there")
    return {
        "two names for one number": repr([v for k, v in seen.items() if isinstance(k, tuple) and len(v) > 1]),
        "numbers of entries": repr(sorted((k, v) for k, v in seen.items() if isinstance(k, str))),
        "walk": repr(sorted(n for k, v in seen.items() if isinstance(k, tuple) for n in v)),
        "rename": repr(attempt(os.rename, "f", "other/f")), "link": repr(attempt(os.link, "f", "other/f")),
        "remove a mount point": repr((attempt(os.rmdir, "other"), attempt(os.rename, "other", "another"))),
        "content": repr((get("other/x"), get("other/f0"), get("bound/f"))),
        "space": repr(os.statvfs("other").f_blocks != os.statvfs(".").f_blocks), "up": repr(sorted(os.listdir("other/.."))),
        "read-only": repr((attempt(put, "fixed/new"), attempt(os.unlink, "fixed/f"))),
        "run where it may not": repr(attempt(lambda: subprocess.run(["fixed/who"], stdout=subprocess.PIPE, check=False).stdout)),
        "run where it may": repr(attempt(lambda: subprocess.run(["./who"], stdout=subprocess.PIPE, check=False).returncode)),
        "locks": repr(subprocess.run(["flock", "other/x", "true"], check=False).returncode),
        "copy": repr(subprocess.run(["cp", "-a", "other", "copy"], check=False).returncode),
    }


def fill(directory, who):
    os.chdir(directory)
    put("f", mode=0o666)
    shutil.copy(who, "who")
    os.chown("who", 2000, 2000)
    os.chmod("who", 0o4755)
    os.mknod("null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    os.chdir("/")


def compare(cases, what, native, shimmed):
    for name, answer in native.items():
        cases.case(f"{what}: {name}", shimmed.get(name) == answer, f"native {answer}, shim {shimmed.get(name)}")


# Says that it began, looks where something gets mounted, mounts something itself and works in there. Its newest process never lives
# for long: whoever wants to enter its namespace by that one comes too late.
COMMAND = """
: >began; until [ -e mounted ]; do /bin/true; done
end=$(($(date +%s) + 2)); while [ "$(date +%s)" -lt $end ]; do /bin/true; done
cat tree/sub/f; stat -c %i tree/sub/f; tree/sub/who
setpriv --reuid 1000 --clear-groups tree/sub/who
mount -t tmpfs within tree/within && echo x >tree/within/x && sleep 2 && umount tree/within
"""


def meanwhile(cases, top, who):
    """What is mounted while a command runs: outside beneath the capture, and by the command over it."""
    os.chdir(top)
    os.mkdir("tree")
    run("mount", "-t", "tmpfs", "-o", "mode=755", "none", "tree")
    for name in ("sub", "within"):
        os.mkdir(f"tree/{name}")
    for propagation in ("shared", "private"):
        run("mount", f"--make-{propagation}", "tree")
        trace = f"{top}/{propagation}.zst"
        with subprocess.Popen([shim_program(), "capture", "tree", "-o", trace, "--", "sh", "-c", COMMAND], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as capture:
            while not os.path.exists("began") and capture.poll() is None:
                time.sleep(0.01)
            run("mount", "-t", "tmpfs", "-o", "nosuid,mode=755", "outer", "tree/sub")
            fill(f"{top}/tree/sub", who)
            os.chdir(top)
            put("tree/sub/f", b"outer\n")
            put("mounted")
            out, said = capture.communicate(timeout=20)
        answers = out.split()
        info = json.loads(run(fstrace_program(), "info", "--json", trace))
        ops = [json.loads(line) for line in run(fstrace_program(), "dump", "--json", trace).splitlines()]
        label = f"mounted meanwhile ({propagation}): "
        cases.case(label + "the command sees what is mounted outside", answers[:1] == ["outer"] and len(answers) == 4, repr((out, said)))
        cases.case(label + "with inode numbers of its own", int(answers[1]) >> 48 == 1, answers)
        cases.case(label + "nosuid holds from then on", answers[2:] == ["0", "1000"], answers)
        cases.case(label + "that is recorded", any(op["kind"] == "read" and op.get("path") == "sub/f" for op in ops), said)
        closing = info["closing"]
        cases.case(label + "and named in the trace and on the terminal", len(closing["mounts_below"]) == 1 and "and captured: sub: tmpfs from outer on" in said
                   and closing["mounts_below"][0].startswith("sub: tmpfs from outer on"), repr((closing, said)))
        cases.case(label + "what the command mounts is not seen, and that is said", len(closing["not_seen"]) == 1
                   and closing["not_seen"][0].startswith("within: tmpfs from within on") and "not seen, mounted over the capture: within" in said
                   and not any(op.get("path") == "within/x" for op in ops), repr((closing, said)))
        run("umount", "tree/sub")
        for name in ("began", "mounted"):
            os.unlink(name)
    with subprocess.Popen([shim_program(), "capture", "tree", "-o", f"{top}/over.zst"], stderr=subprocess.PIPE, text=True) as capture:
        while not any(" fuse.fsshim " in line and f"{top}/tree " in line for line in open("/proc/self/mounts", encoding="utf-8")):
            time.sleep(0.01)
        run("mount", "-t", "tmpfs", "over", "tree/sub")
        time.sleep(1.5)
        run("umount", "tree/sub")
        run(shim_program(), "stop", "tree")
        said = capture.communicate(timeout=20)[1]
    closing = json.loads(run(fstrace_program(), "info", "--json", f"{top}/over.zst"))["closing"]
    cases.case("what is mounted over a capture for everybody is not seen, and that is said", "not seen, mounted over the capture: sub: tmpfs from over" in said
               and len(closing["not_seen"]) == 1 and not closing["mounts_below"], repr((closing, said)))


def captured(directory, trace):
    """A capture for all to see."""
    capture = subprocess.Popen([shim_program(), "capture", directory, "-o", trace], stderr=subprocess.PIPE, text=True)
    while capture.poll() is None and not any(" fuse.fsshim " in line and f"{directory} " in line for line in open("/proc/self/mounts", encoding="utf-8")):
        time.sleep(0.01)
    return capture


def again(fd, flags, name=None):
    """Opens what is known by a descriptor, or a file of that directory, without walking to it."""
    answer = attempt(os.open, name, flags, dir_fd=fd) if name else attempt(os.open, f"/proc/self/fd/{fd}", flags)
    if not isinstance(answer, int):
        return answer
    os.close(answer)
    return "opened"


def bound_twice(cases, top):
    """A directory in several places, with other rights and another parent in each."""
    tree = f"{top}/places"
    os.mkdir(tree)
    run("mount", "-t", "tmpfs", "-o", "mode=755", "none", tree)
    for name in ("lib", "many", "fixed", "mapped", "root1", "root2", "root1/lib", "root2/lib"):
        os.mkdir(f"{tree}/{name}")
    for n in ("1", "2"):
        put(f"{tree}/root{n}/conf", n.encode())
        run("mount", "--bind", f"{tree}/lib", f"{tree}/root{n}/lib")
    put(f"{tree}/lib/f")
    put(f"{tree}/lib/private", mode=0o600)
    os.chown(f"{tree}/lib/private", 1000, 1000)
    run("mount", "--bind", f"{tree}/lib", f"{tree}/fixed")
    run("mount", "-o", "remount,bind,ro", f"{tree}/fixed")
    bind_mapped(f"{tree}/lib", f"{tree}/mapped")
    trace = f"{top}/places.zst"
    capture = captured(tree, trace)
    os.chdir(tree)
    fixed, mapped = os.open("fixed/f", os.O_PATH), os.open("mapped", os.O_PATH)
    cases.case("each place of a directory has its own rights",
               (again(fixed, os.O_WRONLY), attempt(put, "lib/f"), attempt(put, "fixed/f"), attempt(put, "root1/lib/f")) == ("EROFS", None, "EROFS", None))
    cases.case("one file is one file in all places", len({os.stat(f"{place}/f").st_ino for place in ("lib", "fixed", "root1/lib")}) == 1)
    as_it_is = as_user(1000, lambda: again(mapped, os.O_RDONLY, "private"))
    take_descriptors(capture.pid, "many")
    cases.case("a place stays read-only when its descriptors were given up", again(fixed, os.O_WRONLY) == "EROFS", again(fixed, os.O_WRONLY))
    as_later = as_user(1000, lambda: again(mapped, os.O_RDONLY, "private"))
    cases.case("so does an idmapped one shift owners", (as_it_is, as_later) == ("'EACCES'", "'EACCES'"), repr((as_it_is, as_later)))
    closed = []
    for through, elsewhere in (("root1/lib", "lib"), ("lib", "root1/lib")):
        before = as_user(1000, lambda there=elsewhere: attempt(get, f"{there}/f"))
        os.chmod(through, 0o700)
        closed.append((before, as_user(1000, lambda there=elsewhere: attempt(get, f"{there}/f"))))
        os.chmod(through, 0o755)
    cases.case("a directory that is closed in one place is closed in all", closed == [(repr(b"x"), "'EACCES'")] * 2, repr(closed))
    up = []
    for n in ("1", "2", "1"):
        os.chdir(f"{tree}/root{n}/lib")
        os.stat(f"{tree}/root1/lib/f"), os.stat(f"{tree}/root2/lib/f")
        up.append(get("../conf"))
    cases.case("the way up leads back to where one came from", up == [b"1", b"2", b"1"], repr(up))
    os.chdir(f"{tree}/root1/lib")
    locks = [os.open(name, os.O_RDWR) for name in ("f", "../../lib/f")]
    mine = [attempt(fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) for fd in locks]
    cases.case("a process's own locks don't stand in its way in another place", mine == [None, None], repr(mine))
    for fd in (fixed, mapped, *locks):
        os.close(fd)
    os.chdir(top)
    run(shim_program(), "stop", tree)
    said = capture.communicate(timeout=20)[1]
    ops = [json.loads(line) for line in run(fstrace_program(), "dump", "--json", trace).splitlines()]
    objects = {op["object"] for op in ops if op["kind"] == "lookup" and op.get("name") == "f" and op.get("object")}
    cases.case("to the trace it is one object, too", len(objects) == 1, repr((objects, said)))


# Numbers of directories that follow one another, and names that differ in a bit or two.
LINK_DIRECTORIES, LINK_NAMES = [f"d{n}" for n in range(12)], [f"f{n}" for n in range(10, 20)]


def linked(tree):
    """What is read and shown after changes to files with several names."""
    os.chdir(tree)
    seen = []
    for name in ("a2", "b2", "a3", "b3"):
        seen.append((get(name), os.stat(name).st_nlink))
    with open("b2", "ab") as f:
        f.write(b"new")
        seen.append(os.fstat(f.fileno()).st_nlink)
    put("a3", b"a")
    put("b3", b"b")
    os.unlink("a4")
    seen.append((attempt(os.stat, "a4"), attempt(put, "b4", b"new")))
    os.link("a1", "c1")
    os.rename("b5", "c5")
    put("c5", b"new")
    with open("c1", "ab") as f:
        f.write(b"more")
        seen.append([os.path.sameopenfile(f.fileno(), other.fileno()) for other in (open("a1", "rb"), open("c1", "rb"))])
    os.link("made", "too")
    put("made", b"both")
    names = [f"links/{d}/{f}" for d in LINK_DIRECTORIES for f in LINK_NAMES]
    kept = [open(name, "ab") for name in names]  # so that each stays known
    for name, f in zip(names, kept):
        f.write(name.encode())
        f.close()
    seen += [(name, get(name)) for name in names]
    return seen + [(name, get(name), os.stat(name).st_nlink) for name in files()]


def files():
    return sorted(name for name in os.listdir(".") if os.path.isfile(name))


def overlay(cases, top, index):
    """Links of a file in a lower layer: one file where the overlay has an index, else files of their own that look like one."""
    base = f"{top}/overlay-{index}"
    os.mkdir(base)
    run("mount", "-t", "tmpfs", "none", base)
    results = []
    for tree in ("bare", "captured"):
        lower, upper, work, point = (f"{base}/{tree}/{part}" for part in ("lower", "upper", "work", "point"))
        for part in (lower, upper, work, point):
            os.makedirs(part)
        for n in "12345":
            put(f"{lower}/a{n}", b"old")
            os.link(f"{lower}/a{n}", f"{lower}/b{n}")
        put(f"{lower}/linked", b"old")
        for d in LINK_DIRECTORIES:
            os.makedirs(f"{lower}/links/{d}")
            for f in LINK_NAMES:
                os.link(f"{lower}/linked", f"{lower}/links/{d}/{f}")
        put(f"{upper}/made")
        run("mount", "-t", "overlay", "-o", f"lowerdir={lower},upperdir={upper},workdir={work},index={index}", "none", point)
        capture = captured(point, f"{base}/trace.zst") if tree == "captured" else None
        results.append(linked(point))
        os.chdir(top)
        if capture:
            run(shim_program(), "stop", point)
            capture.communicate(timeout=20)
            os.chdir(point)
            results.append([(name, get(name), os.stat(name).st_nlink) for name in files()])
            os.chdir(top)
    count = len(results[2])
    cases.case(f"links on an overlay with index={index} are files as without a capture", results[0] == results[1], repr((results[0], results[1])))
    cases.case("and so they are afterwards", results[0][-count:] == results[2], repr((results[0][-count:], results[2])))


def crowd(cases, top):
    """Captures that begin while others end: numbers of mounts are used again at once, and none may take another's away."""
    script = """
mkdir tree$1
for i in $(seq 12); do
  "$FSSHIM" capture tree$1 -o tree$1-$i.zst -- sh -c 'for i in 1 2 3 4; do ls $0/none$i; sleep 0.02; done' tree$1 2>said$1
  grep -q "fsshim: [4-9] operations" said$1 || grep "^fsshim" said$1
done"""
    crowd = [subprocess.Popen(["sh", "-c", script, "sh", str(n)], cwd=top, env=os.environ | {"FSSHIM": shim_program()}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for n in range(8)]
    said = [one.communicate(timeout=120)[0] for one in crowd]
    cases.case("captures that begin while others end see all of their commands", not any(said), repr(said))


def main():
    if sys.argv[1:2] == ["--in"]:
        json.dump({"options": options, "inside": inside}[sys.argv[3]](sys.argv[2]), sys.stdout)
        return 0
    cases = Cases()
    me = [sys.executable, os.path.abspath(__file__), "--in"]
    with Scratch() as scratch:
        who = f"{scratch.path}/who"
        run("cc", "-w", "-x", "c", "-o", who, "-", input=WHO)

        def both(what, native, shimmed):
            """Answers of two equal directories, the second one beneath the shim; and what fsshim said."""
            one = json.loads(run(*me, native, what))
            trace = f"{scratch.path}/{os.path.basename(shimmed)}.zst"
            done = subprocess.run([shim_program(), "capture", shimmed, "-o", trace, "--", *me, shimmed, what], capture_output=True, text=True,
                                  check=False)
            return one, json.loads(done.stdout or "{}"), done.stderr, trace

        for option in ("ro", "nosuid", "nodev", "noexec", "rw"):
            for place in ("native", "shim"):
                point = f"{scratch.path}/{place}-{option}"
                os.mkdir(point)
                run("mount", "-t", "tmpfs", "-o", "mode=755", "none", point)
                fill(point, who)
                run("mount", "-o", f"remount,{option}", point)
            one, two, _, _ = both("options", f"{scratch.path}/native-{option}", f"{scratch.path}/shim-{option}")
            compare(cases, f"directory mounted {option}", one, two)

        for place in ("native-tree", "shim-tree"):
            point = f"{scratch.path}/{place}"
            os.mkdir(point)
            run("mount", "-t", "tmpfs", "-o", "mode=755", "none", point)
            fill(point, who)
            for name in ("other", "bound", "fixed"):
                os.mkdir(f"{point}/{name}")
            # Like the tree around it, a new tmpfs numbers its files from the start.
            run("mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "none", f"{point}/other")
            run("mount", "-t", "tmpfs", "-o", "mode=755", "none", f"{point}/fixed")
            fill(f"{point}/fixed", who)
            run("mount", "-o", "remount,ro,noexec,nosuid", f"{point}/fixed")
            for i in range(30):
                put(f"{point}/other/f{i}", b"%d" % i)
            os.mkdir(f"{scratch.path}/{place}-source")
            put(f"{scratch.path}/{place}-source/f", b"bound")
            run("mount", "--bind", f"{scratch.path}/{place}-source", f"{point}/bound")
        one, two, said, trace = both("inside", f"{scratch.path}/native-tree", f"{scratch.path}/shim-tree")
        compare(cases, "file systems inside", one, two)
        cases.case("a restriction of one of them that holds for all is named", "the whole directory is nosuid" in said, said)
        meanwhile(cases, scratch.path, who)
        bound_twice(cases, scratch.path)
        for index in ("off", "on"):
            overlay(cases, scratch.path, index)
        crowd(cases, scratch.path)
        header = run(fstrace_program(), "info", trace)
        cases.case("the trace names them with their devices", header.count("inner mount") == 3 and "other: tmpfs from none on" in header, header)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
