#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NFSv3 and NFSv4.1 with Kerberos, and a map of users (--uid map=FILE) that names principals. The owners of new files on the server's
disk show as whom each operation arrived: as the map says, or not at all. A trace of 500 users; maps that are wrong, in words; a KDC
that goes and comes back in mid-run; one that is silent before a run, and replies in it or never."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, put_on_path  # noqa: E402
from nfs_mixes import Mix, counter, seen  # noqa: E402

SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers")
GANESHA, KERBEROS = os.path.join(SERVERS, "ganesha"), os.path.join(SERVERS, "kerberos")
VERSIONS = {"3": "NFS_VFS_URL", "4.1": "NFS4_VFS_URL"}
LIFE = 4  # seconds of a brief ticket
MANY = 500
LATER = 8  # seconds into a trace, by when three attempts to get a ticket have been made
DAEMON, GAMES = 1, 5  # user ids of Debian's accounts


def directory():
    return os.environ["KERBEROS_DIR"]


def keytab(options=""):
    return f"sec=krb5i&keytab={directory()}/user.keytab&principal=root/localhost{options}"


def make_trace(name, users):
    """A trace in which each of `users` makes and writes a file that has its number for a name."""
    log, trace = (os.path.join(directory(), name + end) for end in (".log", ".zst"))
    with open(log, "w", encoding="utf-8") as out:
        for uid in users:
            for call in (f"mknod /f{uid} 100644 S_IFREG (normal file creation)", f"open writeonly /f{uid}", f"write 4096 bytes to /f{uid} at offset 0",
                         f"4096 bytes written to /f{uid} at offset 0", f"release /f{uid}"):
                out.write(f"18:04:35 (src/loggedfs.cpp:136) {call} {{SUCCESS}} [ pid = {uid} p uid = {uid} ]\n")
    subprocess.run(["fstrace", "import", log, "-o", trace], check=True, stderr=subprocess.DEVNULL)
    return trace


def make_map(name, *lines):
    path = os.path.join(directory(), name)
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(line + "\n" for line in lines))
    return path


def place(name, version):
    """A new directory below the export that everybody may write to, and a function for the URL of it."""
    path = os.path.join(os.environ["NFS_VFS_DIR"], name + version)
    os.mkdir(path)
    os.chmod(path, 0o777)
    return path, lambda options: os.environ[VERSIONS[version]].replace("/vfs", f"/vfs/{name}{version}") + "&" + options


def replay(trace, url, users, *more, **environment):
    done = subprocess.run(["fsreplay", trace, url, "--uid", f"map={users}", "--timing", "asap", "--json", "-q", *more], capture_output=True, text=True,
                          check=False, env=dict(os.environ, **environment))
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"counters": {}, "text": done.stderr}


def owners(path):
    return {name: os.stat(os.path.join(path, name)).st_uid for name in os.listdir(path) if name.startswith("f")}


def refused(report):
    return sum(kind.get("refused", 0) for kind in report.get("kinds", {}).values())


def as_the_map_says(cases):
    """Users whose tickets can be had, and those of whom none can."""
    with open(f"{directory()}/krb5.conf", encoding="utf-8") as here:
        assert "NOWHERE.FSREPLAY" in here.read()
    subprocess.run(["ktutil"], input="addent -password -p ghost@NOWHERE.FSREPLAY -k 1 -e aes256-cts\nx\n"
                   f"wkt {directory()}/user.keytab\n", text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    users = make_map("users", "1000 daemon@TEST.FSREPLAY", "1001 games # the default realm", "1002 daemon@TEST.FSREPLAY", "1003 user",
                     "1004 ghost@NOWHERE.FSREPLAY", "1005 nobody-knows@TEST.FSREPLAY")
    trace = make_trace("users", range(1000, 1007))  # the map lacks the last
    want = {"f1000": DAEMON, "f1001": GAMES, "f1002": DAEMON}
    for version in VERSIONS:
        path, url = place("users", version)
        report = replay(trace, url(keytab()), users)
        cases.case(f"{version}: files have the owners whom the map names, and nobody else made one", owners(path) == want, f"{owners(path)} {seen(report)}")
        cases.case(f"{version}: operations of users without a ticket are counted as not issued, and nothing failed",
                   refused(report) == 4 * 4 and report.get("failed") == 0 and report.get("exit_status") == 1, f"{refused(report)} {seen(report)}")
        for said in ("user: Kerberos: keytab=", "ghost@NOWHERE.FSREPLAY: Kerberos: no KDC of the realm replies",
                     "nobody-knows@TEST.FSREPLAY: Kerberos: keytab=", "the map of users has no principal for their user (uid 1006"):
            found = [name for name, count in report["counters"].items() if name.startswith("operations not issued: " + said) and count == 4]
            cases.case(f"{version}: the report says why: {said}", found and any(found[0] in reason for reason in report["not_clean"]), seen(report))
        path, url = place("clients", version)
        report = replay(trace, url(keytab("&clients=3")), users)
        cases.case(f"{version}: the same with three clients", owners(path) == want and refused(report) == 4 * 4, f"{owners(path)} {seen(report)}")
        path, url = place("cache", version)
        report = replay(trace, url("sec=krb5"), users)
        cases.case(f"{version}: a cache that has the ticket of the caller alone serves nobody of the map", not owners(path) and refused(report) == 7 * 4
                   and counter(report, "operations not issued: daemon@TEST.FSREPLAY: Kerberos: no ticket") == 2 * 4, f"{owners(path)} {seen(report)}")


def many(cases):
    users = make_map("many", *(f"{10000 + n} u{n}" for n in range(1, MANY + 1)))
    trace = make_trace("many", range(10001, 10001 + MANY))
    for version in VERSIONS:
        path, url = place("many", version)
        report = replay(trace, url(keytab()), users)
        cases.case(f"{version}: {MANY} users", len(owners(path)) == MANY and report.get("exit_status") == 0 and refused(report) == 0, seen(report))


def wrong_maps(cases):
    trace = make_trace("one", [1000])
    expected = "expected 'uid[:gid] principal'"
    for line, *said in (("1000", expected), ("1000 2000", expected, "because the target has Kerberos"), ("1000 a:b", expected), ("1000 @B", expected),
                        ("1000 a@", expected), ("1000 a@B@C", expected), ("1000 a b", expected), ("no-such-user a", expected), ("1000 root", "1000", "has the principal daemon already")):
        users = make_map("wrong", "# users", "1000 daemon", line)
        done = subprocess.run(["fsreplay", trace, os.environ["NFS4_VFS_URL"] + "&" + keytab(), "--uid", f"map={users}"], capture_output=True, text=True, check=False)
        text = done.stderr.strip()
        cases.case(f"a map with the line '{line}'", done.returncode == 2 and "\n" not in text and all(s in text for s in (f"{users}:3: ", *said)), f"{done.returncode}: {text}")
    users = make_map("wrong", "1000 daemon@TEST.FSREPLAY")
    done = subprocess.run(["fsreplay", trace, os.environ["NFS4_VFS_URL"], "--uid", f"map={users}"], capture_output=True, text=True, check=False)
    cases.case("a map of principals without Kerberos", done.returncode == 2 and f"{users}:1: " in done.stderr and "a principal needs sec=krb5" in done.stderr, done.stderr)
    done = subprocess.run(["fsreplay", trace, os.environ["NFS4_VFS_URL"] + "&" + keytab(), "--uid", "recorded"], capture_output=True, text=True, check=False)
    cases.case("recorded users", done.returncode == 2 and "give --uid map=FILE with lines 'uid principal'" in done.stderr, done.stderr)


def begin_user_without_kdc(version):
    """A replay whose only user of the map loses his ticket before the last two operations."""
    log, trace = (os.path.join(directory(), "outage" + version + end) for end in (".log", ".zst"))
    with open(log, "w", encoding="utf-8") as out:
        for at, call in ((35, "mknod /f1000 100644 S_IFREG (normal file creation)"), (35, "open writeonly /f1000"),
                         (35 + LIFE + 1, "release /f1000"), (35 + LIFE + 1, "mkdir /d 755")):
            out.write(f"18:04:{at} (src/loggedfs.cpp:136) {call} {{SUCCESS}} [ pid = 1000 p uid = 1000 ]\n")
    subprocess.run(["fstrace", "import", log, "-o", trace], check=True, stderr=subprocess.DEVNULL)
    path, url = place("outage", version)
    # pylint: disable-next=consider-using-with
    run = subprocess.Popen(["fsreplay", trace, url(keytab()), "--uid", f"map={make_map('outage', '1000 root/brief')}", "--json", "-q"],
                           stdout=subprocess.PIPE, text=True)
    while run.poll() is None and not os.path.exists(os.path.join(path, "f1000")):
        time.sleep(0.02)
    return run


def user_without_kdc(cases, version, run):
    report = json.loads(run.communicate()[0])
    cases.case(f"{version}: operations of a user whose ticket ends in mid-run fail without a reply, and are not taken back",
               refused(report) == 0 and report["unanswered"] == report["failed"] == (1 if version == "3" else 2)
               and any("without a security context (root/brief: Kerberos: " in name for name, count in report["counters"].items() if count), seen(report))


def begin_without_kdc():
    """Loads whose KDC goes away when they have begun. The tickets of one live on, those of the other end, and are to be renewed."""
    runs = {}
    for version in VERSIONS:
        runs[version] = (Mix("live" + version, os.environ[VERSIONS[version]] + "&" + keytab(), 1, 40, "100s"),
                         Mix("brief" + version, os.environ[VERSIONS[version]] + "&" + keytab().replace("/localhost", "/brief"), 1, 40, "100s"))
    for pair in runs.values():
        for mix in pair:
            mix.await_preparation()
    replays = {version: begin_user_without_kdc(version) for version in VERSIONS}
    subprocess.run([KERBEROS, "--stop"], check=True)
    return runs, replays


def without_kdc(cases, runs, replays):
    time.sleep(LIFE + 1)  # by then, the brief tickets are over, and operations fail
    for version, run in replays.items():
        user_without_kdc(cases, version, run)
    subprocess.run([KERBEROS, "--start"], check=True)
    time.sleep(3)  # two attempts to renew, and a second without failures
    for pair in runs.values():
        for mix in pair:
            mix.process.send_signal(signal.SIGINT)
    for version, (live, brief) in runs.items():
        report = live.report()
        cases.case(f"{version}: contexts that live need no KDC", report.get("failed") == 0 and report["not_clean"] == ["run interrupted before the end"], seen(report))
        report = brief.report()
        told = [name for name, count in report["counters"].items() if count and "without a security context" in name and "no KDC of the realm replies" in name]
        cases.case(f"{version}: without the KDC, operations fail when the ticket is over, which is told and counted",
                   told and 0 < report.get("failed", 0) == report.get("unanswered") and report.get("exit_status") == 1
                   and any("had no reply" in reason for reason in report["not_clean"]), seen(report))
        seconds = [(row["failed"], row["operations"]) for row in report.get("intervals", [])
                   if row["kind"] == "" and row["failed"] + row["operations"]]
        cases.case(f"{version}: renewal is tried until the KDC is back, and the load goes on",
                   any(failed for failed, _ in seconds) and seconds[-1][0] == 0, str(seconds))


def begin_creations(name, version, creations, users, options, **environment):
    """A replay in the background, whose users make files at seconds of its time. `creations`: (second, uid)."""
    log, trace = (os.path.join(directory(), name + version + end) for end in (".log", ".zst"))
    with open(log, "w", encoding="utf-8") as out:
        for at, uid in creations:
            out.write(f"18:{4 + at // 60:02}:{at % 60:02} (src/loggedfs.cpp:136) mknod /f{uid}at{at} 100644 S_IFREG (normal file creation) {{SUCCESS}} "
                      f"[ pid = {uid} p uid = {uid} ]\n")
    subprocess.run(["fstrace", "import", log, "-o", trace], check=True, stderr=subprocess.DEVNULL)
    path, url = place(name, version)
    # pylint: disable-next=consider-using-with
    run = subprocess.Popen(["fsreplay", trace, url(options), "--uid", f"map={users}", "--json", "-q"], stdout=subprocess.PIPE, text=True,
                           env=dict(os.environ, **environment))
    return path, run


def await_file(path, run):
    while run.poll() is None and not os.path.exists(path):
        time.sleep(0.02)


def silent_then_back(cases):
    """A KDC that is gone before runs, and comes back in them. Two users have no tickets for the server then."""
    users = make_map("back", "1002 root/localhost", "1000 daemon", "1001 games")
    caches = {}
    for version in VERSIONS:
        caches[version] = "DIR:" + os.path.join(directory(), "caches" + version)
        os.mkdir(caches[version][4:])
        kerberos = dict(os.environ, KRB5CCNAME=caches[version])
        for user in ("daemon", "games", "root/localhost"):
            subprocess.run(["kinit", "-k", "-t", f"{directory()}/user.keytab", user], check=True, env=kerberos)
        subprocess.run(["kvno", "-q", "nfs/localhost"], check=True, env=kerberos)  # of the last
    subprocess.run([KERBEROS, "--stop"], check=True)
    creations = ((0, 1000), (0, 1001), (0, 1002), (LATER, 1000), (LATER, 1001))
    runs = {version: begin_creations("back", version, creations, users, "sec=krb5&principal=root/localhost", KRB5CCNAME=caches[version])
            for version in VERSIONS}
    for path, run in runs.values():
        await_file(path + "/f1002at0", run)
    subprocess.run([KERBEROS, "--start"], check=True)
    for version, (path, run) in runs.items():
        report = json.loads(run.communicate()[0] or '{"counters": {}}')
        cases.case(f"{version}: users whose KDC was silent before the run act when it is back",
                   owners(path) == {"f1002at0": 0, f"f1000at{LATER}": DAEMON, f"f1001at{LATER}": GAMES}, f"{owners(path)} {seen(report)}")
        cases.case(f"{version}: what was not issued before that is counted, and so are users and attempts", refused(report) == 2
                   and report.get("failed") == 0 and report.get("exit_status") == 1
                   and counter(report, "operations not issued: daemon: Kerberos: no KDC of the realm replies") == 1
                   and counter(report, "users without a ticket at first, because no KDC replied") == 2
                   and counter(report, "users without a ticket at first who got one later") == 2
                   and counter(report, "later attempts to get a ticket") >= 2, seen(report))


def silent_to_the_end(cases):
    """A KDC that refuses connections before runs, and then takes them, but does not reply. Attempts to get a ticket wait when the runs end."""
    users = make_map("never", "1000 daemon", "1001 games", "1004 ghost@NOWHERE.FSREPLAY")
    creations = ((0, 1000), (0, 1004), (LATER // 2, 1001))
    runs = {(version, end): begin_creations("never" + end, version, (*creations, (600, 1000)) if end == "stop" else creations, users, keytab())
            for version in VERSIONS for end in ("end", "stop")}
    for path, run in runs.values():
        await_file(path + "/f1000at0", run)
    with socket.create_server(("127.0.0.1", 9)) as kdc:
        kdc.settimeout(20)
        connections = [kdc.accept()[0] for _ in runs]
        began = time.monotonic()
        for (version, end), (path, run) in runs.items():
            if end == "stop":
                await_file(f"{path}/f1001at{LATER // 2}", run)
                run.send_signal(signal.SIGINT)
            report = json.loads(run.communicate()[0] or '{"counters": {}}')
            took = time.monotonic() - began
            cases.case(f"{version}, {end}: a KDC that is silent throughout delays neither other users nor the end of the run", took < 12
                       and owners(path) == {"f1000at0": DAEMON, f"f1001at{LATER // 2}": GAMES}, f"{took} s {owners(path)} {seen(report)}")
            cases.case(f"{version}, {end}: the report counts the user who got no ticket, and what was not issued",
                       refused(report) == 1 and run.returncode == 1 and report.get("failed") == 0
                       and counter(report, "operations not issued: ghost@NOWHERE.FSREPLAY: Kerberos: no KDC of the realm replies") == 1
                       and counter(report, "users without a ticket at first, because no KDC replied") == 1
                       and counter(report, "users without a ticket at first who got one later") == 0
                       and counter(report, "later attempts to get a ticket") >= 1, f"{run.returncode} {seen(report)}")
        for connection in connections:
            connection.close()


def inside():
    put_on_path()
    cases = Cases()
    wrong_maps(cases)
    as_the_map_says(cases)
    many(cases)
    silent_then_back(cases)
    silent_to_the_end(cases)
    without_kdc(cases, *begin_without_kdc())
    return cases.status()


if sys.argv[1:] == ["--inside"]:
    sys.exit(inside())
os.environ.update(NFS_KERBEROS="1", KERBEROS_LIFE=str(LIFE), KERBEROS_USERS=str(MANY))
os.execv(GANESHA, [GANESHA, os.path.abspath(__file__), "--inside"])
