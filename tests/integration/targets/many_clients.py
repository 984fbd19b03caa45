#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixes by many clients of real NFSv3, NFSv4.1, 9P and AFP servers: each client has a connection and works, also if ranks share
them; connections that are lost in the preparation or in mid-run are replaced, and counted, also of idle clients; clients reclaim what
they have open after a restart of the server; a server or a process that takes fewer clients than asked for is named with the remedy."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built  # noqa: E402

SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers")
# kind: server, the variables of the URL and of the port, and how options begin
KINDS = {"nfs3": ("ganesha", "NFS_VFS_URL", "NFS_PORT", "&"), "nfs4": ("ganesha", "NFS4_VFS_URL", "NFS_PORT", "&"),
         "9p": ("diod", "P9_URL", "P9_PORT", "&"), "afp": ("netatalk", "AFP_URL", "AFP_PORT", "?"), "grace": ("ganesha", "NFS4_VFS_URL", "NFS_PORT", "&")}
SETTINGS = {"grace": {"NFS_GRACE": "1"}}
CLIENTS = 12
IDLE = 12
RESTARTED = 200  # clients with an open file each


def connections(port):
    listing = subprocess.run(["ss", "-Htn", "state", "established", "dport", "=", f":{port}"], capture_output=True, text=True)
    return [line.split()[2].rsplit(":", 1)[1] for line in listing.stdout.splitlines()]


def start(url, report, *options):
    command = [built("replay/fsreplay"), "mix:sfs97-v3", url, "--streams", str(CLIENTS), "--json", "-q", *options]
    return subprocess.Popen(command, stdout=report, stderr=subprocess.STDOUT)


def inside(kind):
    cases = Cases()
    _, url, port, mark = KINDS[kind]
    url, port = os.environ[url], os.environ[port]
    if kind == "grace":
        return restart(cases, f"{url}{mark}clients={RESTARTED}")
    many = f"{url}{mark}clients={CLIENTS}"
    some_idle = f"{url}{mark}clients={CLIENTS + IDLE}"

    written = tempfile.TemporaryFile("w+")
    run = start(some_idle, written, "--load", "300", "--duration", "2s")
    most, lost = 0, set()
    while run.poll() is None:
        here = connections(port)
        if not lost:  # one that is lost and its successor may both be there for a moment
            most = max(most, len(here))
        if len(here) == CLIENTS + IDLE and not lost:
            time.sleep(0.5)  # into the preparation or the run
            lost = set(here[::4])
            for local in lost:
                subprocess.run(["ss", "-K", "dport", "=", f":{port}", "sport", "=", f":{local}"], capture_output=True)
        time.sleep(0.02)
    written.seek(0)
    out = written.read()
    report = json.loads(out) if out.startswith("{") else {}
    err = report.get("error", "") if report else out
    clients = report.get("clients", {})
    cases.case(f"{kind}: each client has a connection", most == CLIENTS + IDLE, f"{most} connections; {err}")
    cases.case(f"{kind}: each client is set up, and each with a stream works",
               clients.get("set_up") == CLIENTS + IDLE and clients.get("used") == CLIENTS, f"{clients} {report.get('not_clean')} {err}")
    counters = report.get("counters", {})
    cases.case(f"{kind}: lost connections are replaced and counted, also of idle clients",
                counters.get("reconnects", 0) >= len(lost) // (2 if kind == "nfs4" else 1) > 0 and clients.get("down") == 0,
                f"{len(lost)} lost; {clients} {counters}")  # idle clients of NFSv4 notice it when they renew their lease
    told = report.get("failed", 0) == 0 or report.get("exit_status") != 0
    cases.case(f"{kind}: no operation fails untold", told and (kind != "nfs4" or report.get("failed") == 0),
                f"{report.get('failed')} {report.get('not_clean')} {counters}")

    if kind == "nfs4":
        churn(cases, many)
        ranks(cases, many)
        limits(cases, many)
        open_files(cases, many)
    return cases.status()


def ranks(cases, url):
    with open(os.path.join(os.environ["GANESHA_DIR"], "ranks.json"), "w+") as written:
        run = start(url, written, "--load", "200", "--duration", "3s", "--force", "--ranks", "3")
        most = 0
        while run.poll() is None:
            most = max(most, len(connections(os.environ["NFS_PORT"])))
            time.sleep(0.02)
        written.seek(0)
        clients = json.load(written).get("clients", {})
    named = {client["client"] for client in clients.get("slowest", [])}
    cases.case("ranks share the clients, and the report has all of them",
               most == clients.get("set_up") == clients.get("used") == CLIENTS and len(named) == 10 and max(named) < CLIENTS,
               f"{most} connections; {clients}")
    refused = subprocess.run([built("replay/fsreplay"), "mix:sfs97-v3", url, "--streams", "13", "--ranks", "13"], capture_output=True, text=True)
    cases.case("more ranks than clients are refused", refused.returncode == 2 and "fewer than the 13 ranks" in refused.stderr, refused.stderr)


def trace_of_opens(processes, steps):
    """A trace of processes that open a file each, read it ten times a second, and close it."""
    top = os.environ["GANESHA_DIR"]
    log, trace = os.path.join(top, "strace.log"), os.path.join(top, "opens.zst")
    with open(log, "w") as lines:
        for step in range(steps):
            for process in range(processes):
                at = f"{1000 + process} {1700000000 + step / 10 + process / processes / 20:.6f} "
                if step == 0:
                    lines.write(f'{at}openat(AT_FDCWD, "/d/f{process}", O_RDWR|O_CREAT, 0666) = 3 <0.000010>\n')
                elif step == steps - 1:
                    lines.write(f"{at}close(3) = 0 <0.000010>\n")
                else:
                    lines.write(f'{at}pread64(3, "", 100, 0) = 0 <0.000010>\n')
    subprocess.run([built("tools/fstrace"), "import", "--format", "strace", log, "--directory", "/d", "-o", trace], check=False,
                   capture_output=True)
    return trace


def replay_opens(trace, url, *options):
    """Begins a replay by a client for each process; returns it and what reads its report at its end."""
    written = open(os.path.join(os.environ["GANESHA_DIR"], "opens.json"), "w+")
    run = subprocess.Popen([built("replay/fsreplay"), trace, url, "--clients-by", "process", "--json", "-q", *options], stdout=written)

    def report():
        run.wait()
        written.seek(0)
        return json.load(written)

    return run, report


def server(action, *limited):
    subprocess.run([*limited, os.path.join(SERVERS, "ganesha"), action], check=True)


def restart(cases, url):
    trace = trace_of_opens(RESTARTED, 40)
    run, report = replay_opens(trace, url)
    last = os.path.join(os.environ["NFS_VFS_DIR"], f"f{RESTARTED - 1}")
    while not os.path.exists(last) and run.poll() is None:
        time.sleep(0.02)
    time.sleep(1)  # at the old rate
    server("--stop")
    server("--start")
    told = report()
    clients, counters = told.get("clients", {}), told.get("counters", {})
    restarted = clients.get("restart", {})
    cases.case("after a restart of the server, all clients reclaim what they have open",
               restarted.get("forgotten") == restarted.get("back") == RESTARTED == counters.get("open files and locks reclaimed")
               and told["failed"] == told["differed"] == 0, f"{clients} {counters} {told['failed']} {told['differed']}")
    cases.case("the report has the time until the first and the last were back",
               0 < restarted.get("first_back_ns", 0) <= restarted.get("last_back_ns", 0) and "old_rate_ns" in restarted, str(restarted))
    return cases.status()


def open_files(cases, url):
    server("--stop")
    server("--start", "prlimit", "--nofile=120:120")
    run, report = replay_opens(trace_of_opens(60, 4), url.replace(f"clients={CLIENTS}", "clients=60"), "--force")
    told = report()
    named = [count for name, count in told["counters"].items() if "I/O error" in name and "LimitNOFILE" in name]
    cases.case("a server that has no descriptor for an open file is named with its setting",
               named and named[0] > 0 and told["differed"] > 0 and run.returncode == 1, f"{told['counters']} {told['differed']}")


def churn(cases, url):
    subprocess.run(["ip", "route", "add", "local", "10.77.0.0/24", "dev", "lo"], check=True)
    report = os.path.join(os.environ["GANESHA_DIR"], "churn.json")
    more = url.replace(f"clients={CLIENTS}", f"clients={3 * CLIENTS}")  # those without a stream have no open file
    with open(report, "w") as written:
        start(more + "&source=10.77.0.0/24&churn=20", written, "--load", "200", "--duration", "2s", "--force").wait()
    with open(report) as written:
        run = json.load(written)
    cases.case("clients unmount and mount anew while the load goes on",
               run["counters"].get("clients mounted anew", 0) > 10 and run["exit_status"] == 0 and run["clients"]["down"] == 0,
               f"{run['clients']} {run['counters']} {run['not_clean']}")
    refused = subprocess.run([built("replay/fsreplay"), "target", "stat", url + "&source=10.78.0.0/16"], capture_output=True, text=True)
    cases.case("addresses that this host does not have are refused with the remedy",
               refused.returncode == 2 and "source=10.78.0.0/16: no address of this host" in refused.stderr, refused.stderr)


def limits(cases, url):
    def refused(name, words, *command):
        run = subprocess.run([*command, built("replay/fsreplay"), "target", "stat", url.replace(f"clients={CLIENTS}", "clients=150")],
                             capture_output=True, text=True)
        cases.case(name, run.returncode == 2 and run.stderr.count("\n") == 1 and all(w in run.stderr for w in words),
                    f"{run.returncode} {run.stderr}")

    refused("a server that takes fewer clients is named with its setting", ["of 150 clients were set up", "RPC_Max_Connections"])
    refused("too few open files are named with the remedy", ["need 406 open files", "200", "ulimit"],
            "setpriv", "--bounding-set=-sys_resource", "prlimit", "--nofile=200:200")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    status = 0
    with Scratch():
        for kind in sys.argv[1:] or KINDS:
            command = [os.path.join(SERVERS, KINDS[kind][0]), sys.executable, os.path.abspath(__file__), "--inside", kind]
            status |= subprocess.run(command, env={**os.environ, **SETTINGS.get(kind, {"NFS_CONNECTIONS": "100"})}, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
