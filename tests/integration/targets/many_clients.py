#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixes by many clients of real NFSv4.1, 9P and AFP servers: each client has a connection and works; connections that are lost in
mid-run are replaced, and counted; a server or a process that takes fewer clients than asked for is named with the remedy."""
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
KINDS = {"nfs4": ("ganesha", "NFS4_VFS_URL", "NFS_PORT", "&"), "9p": ("diod", "P9_URL", "P9_PORT", "&"),
         "afp": ("netatalk", "AFP_URL", "AFP_PORT", "?")}
CLIENTS = 12


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
    many = f"{url}{mark}clients={CLIENTS}"

    written = tempfile.TemporaryFile("w+")
    run = start(many, written, "--load", "300", "--duration", "3s")
    most, lost = 0, set()
    while run.poll() is None:
        here = connections(port)
        most = max(most, len(here))
        if len(here) == CLIENTS and not lost:
            time.sleep(0.5)  # into the preparation, or the run
            lost = set(here[::4])
            for local in lost:
                subprocess.run(["ss", "-K", "dport", "=", f":{port}", "sport", "=", f":{local}"], capture_output=True)
        time.sleep(0.02)
    written.seek(0)
    out = written.read()
    report = json.loads(out) if out.startswith("{") else {}
    err = "" if report else out
    clients = report.get("clients", {})
    cases.case(f"{kind}: each client has a connection", most == CLIENTS, f"{most} connections; {err}")
    cases.case(f"{kind}: each client is set up and works", clients.get("set_up") == CLIENTS == clients.get("used"), str(clients) + err)
    counters = report.get("counters", {})
    cases.case(f"{kind}: lost connections are replaced and counted",
                counters.get("reconnects", 0) >= len(lost) > 0 and clients.get("down") == 0, f"{len(lost)} lost; {clients} {counters}")
    told = report.get("failed", 0) == 0 or report.get("exit_status") != 0
    cases.case(f"{kind}: no operation fails untold", told and (kind != "nfs4" or report.get("failed") == 0),
                f"{report.get('failed')} {report.get('not_clean')} {counters}")

    if kind == "nfs4":
        churn(cases, many)
        limits(cases, many)
    return cases.status()


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
            status |= subprocess.run(command, env={**os.environ, "NFS_CONNECTIONS": "100"}, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
