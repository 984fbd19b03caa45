#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NFSv3 and NFSv4.1 with Kerberos, with a KDC and a server of the test's own: what every target must do alike under sec=krb5p; a
ticket that a keytab renews in mid-run, and one that runs out; a server that restarts in mid-run; what can't work, in words."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
import faults  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases, put_on_path  # noqa: E402
from nfs_mixes import Mix, alike, conformance, counter, seen, stat  # noqa: E402
from proxy import Proxy  # noqa: E402

GANESHA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers", "ganesha")
LIFE = 6  # seconds of a brief ticket
LIGHT = 1, 60  # streams, and operations a second
VERSIONS = {"3": "NFS_VFS_URL", "4.1": "NFS4_VFS_URL"}


def url(version, options, export="/vfs", host="localhost"):
    return os.environ[VERSIONS[version]].replace("/vfs", export).replace("localhost", host) + "&" + options


def kinit(cache, *arguments):
    subprocess.run(["kinit", "-c", cache, "-k", "-t", keytab(), *arguments], check=True)
    return dict(os.environ, KRB5CCNAME=cache)


def keytab():
    return os.path.join(os.environ["KERBEROS_DIR"], "user.keytab")


def all_alike(cases):
    """Every case of the conformance tests, in both versions at once."""
    alike(cases, {f"{version}, krb5p": conformance("alike" + version, url(version, "sec=krb5p", "/krb5p/alike" + version)) for version in VERSIONS})
    for version in VERSIONS:
        for sec, export in (("sys", "/vfs"), ("krb5", "/vfs"), ("krb5i", "/krb5i")):  # the last takes nothing else
            done = stat(url(version, f"sec={sec}", export))
            cases.case(f"{version}: sec={sec}", done.returncode == 0, done.stderr)


def begin_tickets():
    runs = {}
    for version in VERSIONS:
        runs[version] = (
            Mix("renewed" + version, url(version, f"sec=krb5i&keytab={keytab()}&principal=root/brief"), *LIGHT, f"{LIFE + 1}s"),
            Mix("expired" + version, url(version, "sec=krb5"), *LIGHT, f"{LIFE + 1}s",
                **kinit(f"FILE:{os.environ['KERBEROS_DIR']}/brief{version}", "root/brief")))
    return runs


def tickets(cases, runs):
    for version, (renewed, expired) in runs.items():
        report = renewed.report()
        cases.case(f"{version}: a keytab renews a ticket in mid-run, and no operation fails",
                   counter(report, "security contexts made anew") > 0 and report.get("failed") == 0, seen(report))
        report = expired.report()
        told = [name for name in report["counters"] if "the ticket has expired" in name and "kinit" in name]
        cases.case(f"{version}: a ticket that runs out in mid-run is told with the remedy",
                   bool(told) and 0 < report.get("failed", 0) == report.get("unanswered") and report.get("exit_status") != 0, seen(report))


def tampering(cases):
    port = int(os.environ["NFS_PORT"])
    proxy = Proxy(wires.Rpc(), faults.Fault(), port, port + 100)
    mix = Mix("tampering", url("3", "sec=krb5i").replace(f"nfsport={port}", f"nfsport={port + 100}"), *LIGHT, "2s")
    mix.await_preparation()
    proxy.fault = faults.Damage(faults.flip, 10)
    report = mix.report()
    noticed = counter(report, "malformed replies") + counter(report, "unexpected replies")
    cases.case("3: replies that were changed on their way are noticed and counted under krb5i",
               proxy.fault.times > 5 and noticed >= 0.8 * proxy.fault.times, f"{proxy.fault.times} changed: {seen(report)}")


def restart(cases):
    runs = {version: Mix("restart" + version, url(version, "sec=krb5p"), *LIGHT, "3s") for version in VERSIONS}
    for mix in runs.values():
        mix.await_preparation()
    subprocess.run([GANESHA, "--stop"], check=True)
    subprocess.run([GANESHA, "--start"], check=True)
    for version, mix in runs.items():
        report = mix.report()
        # Version 3 does not tell the requests of a security context from those of operations in this counter.
        lost = counter(report, "requests lost with a connection" if version == "3" else "operations lost with a session")
        cases.case(f"{version}: contexts that a restarted server forgot are made anew, and no operation is lost for it",
                   counter(report, "security contexts made anew") > 0 and report.get("failed", 1) <= lost, seen(report))


def words(cases):
    def refused(name, target, *expected, **environment):
        for version in VERSIONS:
            done = stat(target(version), **environment)
            line = done.stderr.strip()
            texts = [e[version] if isinstance(e, dict) else e for e in expected]
            cases.case(f"{version}: {name}", done.returncode == 2 and "\n" not in line and all(e in line for e in texts),
                       f"status {done.returncode}: {line}")

    directory = os.environ["KERBEROS_DIR"]
    own = lambda options, **more: lambda version: url(version, options, **more)  # noqa: E731
    refused("no ticket", own("sec=krb5"), "no ticket", "run kinit", KRB5CCNAME=f"FILE:{directory}/none")
    old = kinit(f"FILE:{directory}/old", "-l", "1s", "root/localhost")
    while stat(url("3", "sec=krb5"), **old).returncode == 0:
        time.sleep(0.1)
    refused("an expired ticket", own("sec=krb5"), "the ticket has expired", "kinit", KRB5CCNAME=old["KRB5CCNAME"])
    with open(f"{directory}/krb5.conf", encoding="utf-8") as here, open(f"{directory}/elsewhere.conf", "w", encoding="utf-8") as elsewhere:
        elsewhere.write(here.read() + "[domain_realm]\n  localhost = NOWHERE.FSREPLAY\n")
    refused("a host of another realm", own("sec=krb5"), "no tickets for the realm of localhost", "domain_realm", KRB5_CONFIG=f"{directory}/elsewhere.conf")
    refused("an unknown service", own("sec=krb5", host="127.0.0.1"), "does not know the service nfs/127.0.0.1", "full name")
    refused("a user that the keytab lacks", own(f"sec=krb5&keytab={keytab()}&principal=other"), "keytab=", "no usable key", "klist -k")
    refused("no such keytab", own("sec=krb5&keytab=/none"), "keytab=/none: No such file")
    refused("an unknown value", own("sec=kerberos"), "sec=kerberos: expected sys, krb5, krb5i or krb5p")
    refused("a keytab without Kerberos", own("keytab=/none"), "keytab=: belongs to sec=krb5")
    refused("a user by number", own("sec=krb5&uid=1"), "uid=: with sec=krb5", "principal=")
    for sec, export in (("sys", "krb5p"), ("krb5", "krb5p"), ("krb5i", "krb5p"), ("krb5p", "krb5i")):
        refused(f"sec={sec} where the export wants {export}", own(f"sec={sec}", export=f"/{export}"),
                f"the export does not allow sec={sec}, but sec={export}; give sec={export} in the URL")
    done = subprocess.run(["fsreplay", "mix:sfs97-v3", url("4.1", "sec=krb5"), "--uid", "recorded"], capture_output=True, text=True, check=False)
    cases.case("recorded users", done.returncode == 2 and "leave --uid out" in done.stderr, done.stderr)
    # The KDC has a new key of the server, whose keytab is the old one.
    subprocess.run(["kadmin.local", "ktadd", "-k", f"{directory}/other.keytab", "nfs/localhost"], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, KRB5_KDC_PROFILE=f"{directory}/kdc.conf"))
    new = kinit(f"FILE:{directory}/new", "root/localhost")
    refused("a server whose keytab is old", own("sec=krb5"), "rejects the Kerberos ticket for nfs/localhost", "keytab",
            KRB5CCNAME=new["KRB5CCNAME"])


def inside():
    put_on_path()
    cases = Cases()
    runs = begin_tickets()
    all_alike(cases)
    tampering(cases)
    tickets(cases, runs)
    restart(cases)
    words(cases)
    return cases.status()


if sys.argv[1:] == ["--inside"]:
    sys.exit(inside())
os.environ.update(NFS_KERBEROS="1", KERBEROS_LIFE=str(LIFE))
os.execv(GANESHA, [GANESHA, os.path.abspath(__file__), "--inside"])
