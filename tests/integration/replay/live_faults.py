#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A capture that is replayed while it goes on, while the server stands still or is killed, the disk for the stream is full, or one of both
sides is killed: applications notice nothing, what was lost is told, and a second start goes on."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
from live_runs import alike, clean, fresh, metric, server_url, wait_for  # noqa: E402
from lower_fs import Cases, Scratch, put_on_path  # noqa: E402

cases = Cases()
put_on_path()


def server_stops():
    """A server that stands still until the lag is too great: nothing is lost, or reads are left out and counted, or the run ends."""
    with open(os.path.join(os.environ["GANESHA_DIR"], "ganesha.pid"), encoding="ascii") as file:
        server = int(file.read())
    load = "cd share; cat old/[a-f]* still/* >/dev/null; ls -l old >/dev/null; while [ ! -e ../enough ]; do read x <old/a1; ls old >/dev/null; echo x >>made; echo $((++n)) >new$((n % 50)); rm -f new$((n % 7)); done"
    for how, version in (("wait", "4.1"), ("skip-reads", "3"), ("stop", "4.1")):
        fresh()
        target, numbers = f"stops-{how}", f"{how}.prom"
        with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "bash", "-c", load], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
            replay = subprocess.Popen(["fsreplay", "-", server_url(target, version), "--live", "--lag", "500ms", "--lag-max", "1500ms", "--when-behind", how,
                                       "--metrics", numbers, "--interval", "100ms", "--json", "-q", "--allow", "inexpressible"],
                                      stdin=shim.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            shim.stdout.close()
            wait_for(lambda: metric(numbers, "fsreplay_operations") > 100, replay)
            os.kill(server, signal.SIGSTOP)
            try:
                late = wait_for(lambda: metric(numbers, "fsreplay_lag_seconds") > 2, replay)
            finally:
                os.kill(server, signal.SIGCONT)
            if how == "skip-reads":
                wait_for(lambda: metric(numbers, "fsreplay_left_out") > 0, replay)
            with open("enough", "wb"):
                pass
            out, said = replay.communicate(timeout=60)
            status = shim.wait(timeout=30)
        report = json.loads(out or "{}")
        live_part, reasons = report.get("live", {}), str(report.get("not_clean"))
        cases.case(f"{how}: metrics show the lag, and applications notice nothing", (late or how == "stop") and status in (0, 1 if how == "stop" else 0), (late, status))
        if how == "wait":
            cases.case("wait: nothing is lost", clean(report) and live_part["lag_max_ns"] > 2e9, (said, reasons))
        if how == "skip-reads":
            left_out = live_part.get("left_out", {})
            cases.case("skip-reads: reads are left out and counted, changes are not", replay.returncode == 1 and "left out while the replay was behind" in reasons
                       and sum(left_out.values()) > 0 and not set(left_out) & {"write", "create", "unlink", "lookup", "open"}, (left_out, reasons))
        if how == "stop":
            cases.case("stop: the run ends and says why", replay.returncode == 1 and "more than --lag-max" in reasons, (replay.returncode, reasons))
        else:
            compared = alike("share", f"{os.environ['NFS_VFS_DIR']}/{target}")
            cases.case(f"{how}: the trees are alike", compared.returncode == 0, compared.stdout[-500:])


def server_restarts():
    """A server that is killed and started again while it is asked to change names: applications notice nothing, and the replay goes on
    clean, without --resync, also of three clones of the load."""
    script = os.path.join(hostile.SOURCE, "tests/servers/ganesha")
    load = """cd share; cat old/[a-f]* still/* >/dev/null; ls -l old >/dev/null; exec 5>>held; flock 5
for p in 1 2 3; do (
    while [ ! -e ../enough ]; do
        mkdir d$p; echo $((++n)) >d$p/new; ln -s $n d$p/symlink; ln d$p/new d$p/second; mv d$p/new kept$p; rm d$p/*; rmdir d$p; sleep 0.01
    done
) & done
while [ ! -e ../enough ]; do echo $((++n)) >&5; echo $n >new$((n % 50)); mv new$((n % 20)) moved; rm -f new$((n % 7)); read x <old/a1; sleep 0.005; done; wait"""
    for version, clones in (("3", 3), ("4.1", 1)):
        fresh()
        target, numbers = f"restart-{version}", f"restart-{version}.prom"
        with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "bash", "-c", load], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
            replay = subprocess.Popen(["fsreplay", "-", server_url(target, version), "--live", "--lag", "500ms", "--metrics", numbers, "--interval", "100ms",
                                       "--json", "-q", "--allow", "inexpressible", "--scale", f"{clones}x"], stdin=shim.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            shim.stdout.close()
            wait_for(lambda: metric(numbers, "fsreplay_operations") > 200, replay)
            with open(os.path.join(os.environ["GANESHA_DIR"], "ganesha.pid"), encoding="ascii") as file:
                server = int(file.read())
            os.killpg(server, signal.SIGSTOP)
            in_flight = wait_for(lambda: metric(numbers, "fsreplay_in_flight") > 0, replay)
            os.killpg(server, signal.SIGKILL)
            late = wait_for(lambda: metric(numbers, "fsreplay_lag_seconds") > 2, replay)
            subprocess.run([script, "--stop"], check=False)
            subprocess.run([script, "--start"], stdin=subprocess.DEVNULL, check=True)
            caught_up = wait_for(lambda: metric(numbers, "fsreplay_lag_seconds") < 1, replay)
            with open("enough", "wb"):
                pass
            out, said = replay.communicate(timeout=60)
            status = shim.wait(timeout=30)
        report = json.loads(out or "{}")
        reasons, counters = str(report.get("not_clean")), {name: n for name, n in report.get("counters", {}).items() if n}
        cases.case(f"restart, NFSv{version}: applications notice nothing, and the lag shows the wait and its end", status == 0 and late and caught_up,
                   (status, late, caught_up))
        cases.case(f"restart, NFSv{version}: every operation is issued, and new connections are counted, in the metrics as well",
                   counters.get("reconnects", 0) > 0 and metric(numbers, 'fsreplay_target_events_total{what="reconnects"}') > 0, (said, counters, reasons))
        cases.case(f"restart, NFSv{version}: replies were lost", in_flight and any(counters.get(name, 0) > 0 for name in ("requests lost with a connection", "requests sent again")), counters)
        cases.case(f"restart, NFSv{version}: clean", clean(report), (replay.returncode, reasons, counters, report.get("mismatches", [])[:5]))
        for tree in [target] if clones == 1 else [f"{target}/clone-{n}" for n in range(clones)]:
            compared = alike("share", f"{os.environ['NFS_VFS_DIR']}/{tree}")
            cases.case(f"restart, NFSv{version}: the trees are alike", compared.returncode == 0, (tree, compared.stdout[-500:]))


def full_disk():
    """A disk without room for the stream while the server stands still: applications go on, and what that costs is told."""
    fresh()
    os.mkdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", "small"], check=True)
    with open(os.path.join(os.environ["GANESHA_DIR"], "ganesha.pid"), encoding="ascii") as file:
        server = int(file.read())
    numbers = "full.prom"
    load = "cd share; cat old/[a-f]* still/* >/dev/null; ls -l old >/dev/null; echo x >n0; while [ ! -e ../stopped ]; do sleep 0.02; done; for i in $(seq 70); do dd if=/dev/urandom of=n$i bs=1M count=4 status=none || exit 9; sleep 0.03; done; touch ../done; while [ ! -e ../enough ]; do sleep 0.05; done"
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--content", "full", "--", "sh", "-c", load],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
        replay = subprocess.Popen(["fsreplay", "-", server_url("full", "3"), "--live", "--lag", "500ms", "--metrics", numbers, "--interval", "100ms", "--json", "-q", "--allow", "inexpressible"], stdin=shim.stdout,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": os.path.abspath("small")})
        shim.stdout.close()
        wait_for(lambda: os.path.exists(f"{os.environ['NFS_VFS_DIR']}/full/n0"), replay)
        os.kill(server, signal.SIGSTOP)
        with open("stopped", "wb"):
            pass
        try:
            went_on = wait_for(lambda: os.path.exists("done"), shim, 120)
        finally:
            os.kill(server, signal.SIGCONT)
        last = f"{os.environ['NFS_VFS_DIR']}/full/n70"
        # A busy machine takes long for 280 MiB, of which a part waits in the capture, where no lag is known of it.
        wait_for(lambda: os.path.exists(last) and os.path.getsize(last) == 4 << 20 and metric(numbers, "fsreplay_lag_seconds") < 1, replay, 60)
        with open("enough", "wb"):
            pass
        out, said = replay.communicate(timeout=60)
        shim.stderr.read()
        shim.wait(timeout=30)
    subprocess.run(["umount", "small"], check=True)
    report = json.loads(out or "{}")
    reasons = str(report.get("not_clean"))
    cases.case("a full disk holds up no application", went_on, reasons)
    told = replay.returncode == 1 and "could not wait on disk: No space left" in reasons
    whole = clean(report) and alike("share", f"{os.environ['NFS_VFS_DIR']}/full").returncode == 0  # memory was enough
    cases.case("a full disk is told, or nothing is lost", told or whole, (replay.returncode, said, reasons))


def full_spool():
    """A stream that fills --spool while the server stands still: applications go on without waiting for the replay, and both sides tell
    what that costs."""
    fresh()
    with open(os.path.join(os.environ["GANESHA_DIR"], "ganesha.pid"), encoding="ascii") as file:
        server = int(file.read())
    numbers = "spool.prom"
    load = "cd share; head -c 16M /dev/urandom >big; ls -l >/dev/null; while [ ! -e ../enough ]; do cat big >/dev/null; echo $((++n)) >../rounds; done"
    with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--content", "full", "--ring", "100ms", "--", "bash", "-c", load],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
        replay = subprocess.Popen(["fsreplay", "-", server_url("spool", "3"), "--live", "--lag", "500ms", "--spool", "1M", "--metrics", numbers, "--interval", "100ms",
                                   "--json", "-q", "--allow", "inexpressible"], stdin=shim.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shim.stdout.close()
        wait_for(lambda: metric(numbers, "fsreplay_operations") > 10, replay)
        os.kill(server, signal.SIGSTOP)
        try:
            full = wait_for(lambda: metric(numbers, "fsreplay_spooled_bytes") >= 1 << 20, replay)
            before = rounds()
            went_on = wait_for(lambda: rounds() > before + 10, shim)
        finally:
            os.kill(server, signal.SIGCONT)
        with open("enough", "wb"):
            pass
        out, said = replay.communicate(timeout=60)
        told = shim.stderr.read().decode()
        status = shim.wait(timeout=30)
    report = json.loads(out or "{}")
    reasons = str(report.get("not_clean"))
    cases.case("a full --spool holds up no application", full and went_on, (full, went_on, reasons))
    cases.case("a full --spool: the capture tells what was dropped", status == 1 and "not complete" in told and "operations were dropped" in told
               and " 0 waits for memory" in told, (status, told))
    cases.case("a full --spool: the replay tells why, with its status", replay.returncode == 1 and "was used up (--spool 1.0 MiB), so the capture had to wait" in reasons
               and "were dropped by the recorder" in reasons and report["live"]["spooled_bytes"] < 3 << 20, (replay.returncode, said, reasons, report.get("live")))


def rounds():
    with open("rounds", encoding="ascii") as file:
        return int(file.read() or 0)


def starts_again():
    """The capture is killed, then the replay; each time a second start goes on with the tree that stands there."""
    url, directory = server_url("second", "4.1"), f"{os.environ['NFS_VFS_DIR']}/second"
    fresh()
    idle = "touch ../idle; while [ ! -e ../enough ]; do sleep 0.05; done"
    use = "cd share; cat old/[a-f]* still/* >/dev/null; ls -l old still >/dev/null; mkdir $0; for i in $(seq 30); do echo $i >$0/f$i; done; mv $0/f1 $0/g; rm $0/f2; echo $0 >>old/a1; exec 5>>still/x; flock 5; echo $0 >&5;"

    def begin(url, word, *options):
        for name in ("idle", "enough"):
            if os.path.exists(name):
                os.unlink(name)
        shim = subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--content", "full", "--", "bash", "-c", use + idle, word],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        replay = subprocess.Popen(["fsreplay", "-", url, "--live", "--lag", "500ms", "--json", "-q", "--allow", "inexpressible", *options],
                                  stdin=shim.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        shim.stdout.close()
        return shim, replay

    def size(file):
        return os.path.getsize(file) if os.path.exists(file) else 0

    def end(shim, replay):
        with open("enough", "wb"):
            pass
        said = shim.stderr.read().decode()
        status = shim.wait(timeout=30)
        out, told = replay.communicate(timeout=60)
        return status, said, json.loads(out or "{}"), told

    shim, replay = begin(url, "one")
    wait_for(lambda: os.path.exists("idle") and size(f"{directory}/still/x") == size("share/still/x"), shim)
    shim.kill()
    _, _, report, told = end(shim, replay)
    cases.case("a killed capture: what came is replayed, and the end is told",
               replay.returncode == 1 and "closing statement is missing" in str(report.get("not_clean")), (told, report.get("not_clean")))
    shim, replay = begin(url, "two", "--image", "trust", "--force")
    wait_for(lambda: os.path.exists(f"{directory}/two/g"), replay)
    status, said, report, told = end(shim, replay)
    cases.case("the second start ends well", status == 0 and clean(report), (said, told, report.get("not_clean"), report.get("mismatches", [])[:3]))
    compared = alike("share", directory, "--content")
    cases.case("the second start: the trees are alike", compared.returncode == 0, compared.stdout[-500:])

    shim, replay = begin(url, "three", "--image", "trust", "--force")
    wait_for(lambda: os.path.exists(f"{directory}/three/f20"), replay)
    replay.kill()
    replay.wait()  # else the capture may end before
    wait_for(lambda: os.path.exists("idle"), shim)
    status, said, _, _ = end(shim, replay)
    cases.case("a killed replay: applications go on, and the capture tells", os.path.exists("idle") and status == 1 and "not complete" in said, (status, said))
    url, directory = server_url("third", "4.1"), f"{os.environ['NFS_VFS_DIR']}/third"
    shutil.copytree("share", directory, symlinks=True, dirs_exist_ok=True)
    shim, replay = begin(url, "four", "--image", "trust", "--force")
    wait_for(lambda: os.path.exists(f"{directory}/four/g"), replay)
    status, said, report, told = end(shim, replay)
    compared = alike("share", directory, "--content")
    cases.case("a start on a new copy goes on beside the locks of the killed one", status == 0 and clean(report) and compared.returncode == 0,
               (said, told, report.get("not_clean"), report.get("mismatches", [])[:3], compared.stdout[-300:]))


class Ssh:
    """An ssh server on loopback, whose keys and configuration are in the working directory, and the command that reaches it."""
    PORT = 2222

    def __init__(self):
        os.makedirs("/run/sshd", exist_ok=True)  # sshd wants it
        here = os.getcwd()
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        with open("sshd.conf", "w", encoding="ascii") as file:
            file.write(f"ListenAddress 127.0.0.1:{self.PORT}\nHostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\nPidFile none\nStrictModes no\n"
                       "UsePAM no\nPermitUserRC no\nPasswordAuthentication no\nClientAliveInterval 1\nClientAliveCountMax 1\n")
        self.server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-E", "sshd.log", "-f", f"{here}/sshd.conf"])
        wait_for(self.listens, self.server)
        self.command = ["ssh", "-F", "none", "-i", "user", "-p", str(self.PORT), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
                        "-o", f"UserKnownHostsFile={here}/known", "-o", "GlobalKnownHostsFile=none", "-o", "LogLevel=ERROR", "-o", "ServerAliveInterval=1",
                        "-o", "ServerAliveCountMax=1", "root@127.0.0.1"]

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.PORT)) == 0

    def end(self):
        self.server.terminate()
        self.server.wait()


def over_ssh():
    """The stream goes to another machine by ssh. Then the network fails in mid-run: applications notice nothing, and both sides tell."""
    ssh = Ssh()
    where = f"cd {os.getcwd()} && PATH={os.environ['PATH']}"
    load = "cd share; cat old/[a-f]* still/* >/dev/null; ls -l old >/dev/null; while [ ! -e ../enough ]; do echo $((++n)) >n$((n % 9)); sleep 0.01; done; touch last"
    for case in ("whole", "cut"):
        fresh()
        there = f"{where} fsreplay - file:{case} --live --lag 500ms --json -q >{case}.json 2>{case}.said; echo $? >{case}.status"
        with subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--", "bash", "-c", load], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shim:
            link = subprocess.Popen([*ssh.command, there], stdin=shim.stdout, stderr=subprocess.PIPE, text=True)
            shim.stdout.close()
            came = wait_for(lambda case=case: os.path.exists(f"{case}/n8"), link)
            if case == "cut":
                subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
                wait_for(lambda link=link: link.poll() is not None, shim)
                subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            with open("enough", "wb"):
                pass
            said = shim.stderr.read().decode()
            status = shim.wait(timeout=30)
            complaint = link.communicate(timeout=30)[1]
        wait_for(lambda case=case: os.path.exists(f"{case}.status") and os.path.getsize(f"{case}.status"), ssh.server)
        with open(f"{case}.json", encoding="utf-8") as file:
            text = file.read()
        report = json.loads(text or "{}")
        reasons = str(report.get("not_clean"))
        if case == "whole":
            compared = alike("share", case)
            cases.case("by ssh: the run is clean, and the trees are alike", came and status == 0 and link.returncode == 0 and clean(report) and compared.returncode == 0,
                       (said, complaint, reasons, compared.stdout[-300:]))
        else:
            cases.case("by ssh, cut: applications notice nothing", came and os.path.exists("share/last"), said)
            cases.case("by ssh, cut: the capture tells", status == 1 and "not complete" in said and link.returncode != 0, (status, said, complaint))
            cases.case("by ssh, cut: the replay tells, and has replayed what came", "closing statement is missing" in reasons and report["issued"] > 50
                       and report["differed"] == 0, (reasons, text[-300:]))
    ssh.end()


hostile.beside("ganesha")
with Scratch() as scratch:
    os.chdir(scratch.path)
    for part in (over_ssh, server_stops, server_restarts, full_disk, full_spool, starts_again):
        part()
sys.exit(cases.status())
