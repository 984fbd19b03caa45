#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NFSv3 and NFSv4.1 over TLS (RFC 9289), by a proxy in front of NFS-Ganesha, which lacks TLS: what every target must do alike; a mix
whose connections end in several ways, and whose server stands still in a handshake; what can't work, in words. The proxy sees that
nothing but TLS records is on the wire."""
import os
import re
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))
import tls_proxy  # noqa: E402
from lower_fs import Cases, put_on_path  # noqa: E402
from nfs_mixes import Mix, alike, conformance, counter, seen, stat  # noqa: E402
from wire_capture import captured  # noqa: E402

GANESHA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers", "ganesha")
BEHIND = "192.0.2.1"  # address by which the proxies reach Ganesha
REQUEST_FOR_TLS = 44  # bytes: a record's mark, and a call of NULL without arguments (RFC 9289, section 4.1)
PATIENCE = 20  # seconds for what a busy machine may delay
PORTS = [int(os.environ.get(name, 0)) for name in ("NFS_PORT", "MOUNT_PORT", "NLM_PORT")]


class Server:
    """Proxies for all ports of Ganesha, which listen `distance` above them."""

    def __init__(self, certificates, distance, name="good", wants_client=False):  # name None: without TLS
        self.distance = distance
        context = name and certificates.context(name, wants_client)
        self.proxies = [tls_proxy.TlsProxy(context, port, port + distance, BEHIND) for port in PORTS]
        self.nfs = self.proxies[0]

    def url(self, version, options, export="/vfs", host="localhost"):
        nfs, mount, nlm = (port + self.distance for port in PORTS)
        if version == "3":
            return f"nfs://{host}{export}?version=3&nfsport={nfs}&mountport={mount}&nlmport={nlm}&{options}"
        return f"nfs://{host}:{nfs}{export}?version={version}&{options}"

    def sum(self, name):
        return sum(getattr(proxy, name) for proxy in self.proxies)


def eventually(holds):
    until = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def endings(cases, certificates, options):
    """Connections of four clients that end in three ways."""
    servers = {version: Server(certificates, 300 + 10 * at) for at, version in enumerate(("3", "4.1"))}
    mixes = {version: Mix("endings" + version, server.url(version, options + "&clients=4"), 4, 200, "3s") for version, server in servers.items()}
    for version, mix in mixes.items():
        mix.await_preparation()
        nfs = servers[version].nfs
        ended = 0
        for end in (nfs.cut, nfs.cut_records, nfs.say_goodbye):
            before = nfs.handshakes
            end()
            ended += eventually(lambda b=before, n=nfs, m=mix: n.handshakes >= b + 4 or m.process.poll() is not None) and mix.process.poll() is None
        cases.case(f"{version}: connections end in three ways while the load goes on", ended == 3, f"{ended}")
    for version, mix in mixes.items():
        report = mix.report()
        lost = counter(report, "requests lost with a connection") + counter(report, "operations lost with a session")
        cases.case(f"{version}: they are made anew, and counted",
                   counter(report, "reconnects") + counter(report, "connections that TLS ended") >= 12
                   and report.get("failed", lost + 1) <= lost and report.get("issued", 0) > 300, seen(report))


def standstill(cases, certificates, options):
    """One of four clients loses its connection, and gets no further than the handshake. Beside that, a server that comes back with a
    certificate that has expired."""
    expiring = Server(certificates, 800)
    expiry = Mix("expiry", expiring.url("3", options + "&clients=2"), 4, 200, "2s")
    server = Server(certificates, 400)
    mix = Mix("standstill", server.url("4.1", options + "&clients=4&timeout=1"), 4, 200, "3s")
    expiry.await_preparation()
    expiring.nfs.context = certificates.context("expired")
    expiring.nfs.cut()
    mix.await_preparation()
    links = server.nfs.links[-4:]
    for _ in range(8):
        server.nfs.hangs.release()
    links[3].end()
    stands = eventually(lambda: server.nfs.hung > 0)
    before = [link.requests for link in links[:3]]
    goes_on = eventually(lambda: all(link.requests > b + 2000 for link, b in zip(links, before)))
    cases.case("other clients go on while one stands still in a handshake", stands and goes_on and mix.process.poll() is None,
               f"{server.nfs.hung} handshakes, {before}")
    report = mix.report()
    cases.case("the operations of that client end in time, and are told",
               report.get("failed", 0) > 0 and report.get("exit_status") != 0 and counter(report, "requests with") > 0, seen(report))
    report = expiry.report()
    told = [name for name, count in report["counters"].items() if count and "the server's certificate expired at" in name]
    cases.case("a certificate that expires in the middle of a run is told", told and report.get("failed", 0) > 0, seen(report))
    refused = report.get("unanswered", 0)
    cases.case("an operation that a certificate prevents has no answer, and no response time",
               refused == report.get("failed") and report["clients"]["unanswered"] == refused and any("had no reply" in line for line in report["not_clean"]),
               f"{refused} unanswered, {report.get('clients')}, {seen(report)}")


def words(cases, certificates, good, mutual, options):
    path = certificates.path
    own = f"&cert={path('client.pem')}&key={path('client.key')}"
    strange = f"&cert={path('stranger-client.pem')}&key={path('stranger-client.key')}"
    expired, elsewhere = Server(certificates, 500, "expired"), Server(certificates, 600, "elsewhere")
    misnamed, unsigning = Server(certificates, 520, "misnamed"), Server(certificates, 540, "without-signatures")
    for_clients, lacking = Server(certificates, 510, "for-clients"), Server(certificates, 560, None)
    hanging = Server(certificates, 700)
    for proxy in hanging.proxies:
        for _ in range(8):
            proxy.hangs.release()

    def clear(version, more):
        return os.environ["NFS_VFS_URL" if version == "3" else "NFS4_VFS_URL"] + "&" + more

    refusals = (
        ("an unknown authority", good, "xprtsec=tls", "signed by an unknown authority", "ca=FILE"),
        ("another authority", good, f"xprtsec=tls&ca={path('stranger.pem')}", "signed by an unknown authority (CN=ca)", "ca=FILE"),
        ("an expired certificate", expired, options, "the server's certificate expired at", "renew"),
        ("a certificate of another server", elsewhere, options, "is for DNS:elsewhere.example instead of localhost", "tls-name="),
        ("a certificate with an address for a name", lambda version, more: misnamed.url(version, more, host="127.0.0.1"), options,
         "is for DNS:127.0.0.1, IP:192.0.2.7 instead of 127.0.0.1", "tls-name="),
        ("a certificate that may not sign", unsigning, options, "may not sign", "digitalSignature"),
        ("an empty name", clear, options + "&tls-name=", "tls-name=: expected the name or address"),
        ("a certificate for clients", for_clients, options, "is not for servers", "serverAuth"),
        ("another name than asked for", good, options + "&tls-name=other.example", "instead of other.example", "tls-name="),
        ("no certificate where one is wanted", mutual, options, "wants a client's certificate", "xprtsec=mtls"),
        ("a certificate that the server does not know", mutual, options.replace("=tls", "=mtls") + strange,
         "refuses the client's certificate", "cert="),
        ("a handshake that stands still", hanging, options + "&timeout=1", "does not go on with the handshake", "see its log"),
        ("a server without TLS", lacking, options, "does not offer TLS", {"3": "tls-mount=none", "4.1": "leave xprtsec= out"}),
        ("an unknown value", clear, "xprtsec=ssl", "xprtsec=ssl: expected none, tls or mtls"),
        ("a certificate without mtls", clear, options + own, "cert=: belongs to xprtsec=mtls"),
        ("mtls without a certificate", clear, "xprtsec=mtls", "give cert=FILE and key=FILE"),
        ("an authority without TLS", clear, f"ca={path('ca.pem')}", "ca=: belongs to xprtsec=tls"),
        ("an authority that is not used", clear, options + "&tls-verify=none", "ca=: contradicts tls-verify=none"),
        ("no such file", clear, "xprtsec=tls&ca=/none", "ca=/none: No such file"),
        ("a file without certificates", clear, f"xprtsec=tls&ca={path('good.key')}", "has no certificate"),
        ("another's key", clear, f"{options.replace('=tls', '=mtls')}&cert={path('client.pem')}&key={path('good.key')}",
         "is not the key of the certificate"),
    )
    runs = []
    for name, server, more, *expected in refusals:
        for version in ("3", "4.1"):
            target = server.url(version, more) if isinstance(server, Server) else server(version, more)
            runs.append((f"{version}: {name}", [e[version] if isinstance(e, dict) else e for e in expected], subprocess.Popen(["fsreplay", "target", "stat", target], stdout=subprocess.DEVNULL,
                                                                          stderr=subprocess.PIPE, text=True)))
    for name, expected, run in runs:
        line = run.communicate()[1].strip()
        cases.case(name, run.returncode == 2 and "\n" not in line and all(e in line for e in expected), f"status {run.returncode}: {line}")
    got = [link.requests for proxy in lacking.proxies for link in proxy.links]
    cases.case("a server that lacks TLS gets nothing but the request for it", len(got) > 1 and set(got) == {REQUEST_FOR_TLS}, str(got))


def allowed(cases, certificates, good, mutual, options):
    own = f"&cert={certificates.path('client.pem')}&key={certificates.path('client.key')}"
    for_rpc = Server(certificates, 530, "for-rpc")
    for version in ("3", "4.1", "4.2"):
        for name, target in (("a certificate for RPC alone", for_rpc.url(version, options)),
                             ("an address that the certificate has", good.url(version, options, host="127.0.0.1")),
                             ("a certificate of the client", mutual.url(version, options.replace("=tls", "=mtls") + own)),
                             ("a name that the certificate has", good.url(version, options + "&tls-name=127.0.0.1")),
                             ("no check of the certificate", good.url(version, "xprtsec=tls&tls-verify=none")),
                             ("Kerberos under TLS", good.url(version, options + "&sec=krb5p"))):
            done = stat(target)
            cases.case(f"{version}: {name}", done.returncode == 0, done.stderr)
    plain = good.url("3", options).replace(f"mountport={PORTS[1] + good.distance}", f"mountport={PORTS[1]}")
    done = stat(plain)
    cases.case("3: MOUNT without TLS is refused", done.returncode == 2 and "MOUNT" in done.stderr and "tls-mount=none" in done.stderr, done.stderr)
    done = stat(plain.replace(f"nlmport={PORTS[2] + good.distance}", f"nlmport={PORTS[2]}") + "&tls-mount=none")
    cases.case("3: MOUNT without TLS by name only", done.returncode == 0, done.stderr)
    report = Mix("unverified", good.url("4.1", "xprtsec=tls&tls-verify=none"), 1, 50, "500ms").report()
    cases.case("the report has connections that were not verified",
               counter(report, "connections to a server that was not verified") == 1 and counter(report, "connections with TLS") == 1
               and report.get("failed") == 0, seen(report))


def without_agreements(source, out):
    """A capture that lacks the requests for TLS and the replies, as one that began later."""
    with open(source, "rb") as file, open(out, "wb") as rest:
        rest.write(file.read(24))
        while head := file.read(16):
            packet = file.read(struct.unpack_from("=I", head, 8)[0])
            if b"STARTTLS" not in packet and not packet.endswith(struct.pack(">4I", 7, 0, 0, 0)):
                rest.write(head + packet)


def encrypted_captures(cases, certificates, options):
    """What an import says of traffic that it can't read."""
    server = Server(certificates, 2049 - PORTS[0])  # on the port of NFS
    directory = os.environ["GANESHA_DIR"]
    pcap = os.path.join(directory, "encrypted.pcap")
    plain = {version: os.environ[name] for version, name in (("3", "NFS_VFS_URL"), ("4.1", "NFS4_VFS_URL"))}
    before = server.sum("handshakes")
    with captured(cases, pcap, f"tcp and not host {BEHIND}"):
        for version in ("3", "4.1"):
            for target, name in ((plain[version] + "&sec=krb5i", "seen" + version), (plain[version] + "&sec=krb5p", "unseen" + version),
                                 (server.url(version, options), "tls" + version)):
                done = subprocess.run(["fsreplay", "target", "put", target, name], input="x" * 5000, capture_output=True, text=True, check=False)
                cases.case(f"{version}: a file is written to be captured: {name}", done.returncode == 0, done.stderr)
    trace = os.path.join(directory, "encrypted.zst")
    done = subprocess.run(["fstrace", "import", pcap, "-o", trace], capture_output=True, text=True, check=False)
    names = subprocess.run(["fstrace", "dump", trace], capture_output=True, text=True, check=False).stdout
    said = done.stdout + done.stderr
    cases.case("an import has the calls of krb5i, and no other", all(f"seen{v}" in names for v in plain)
               and not any(n + v in names for v in plain for n in ("unseen", "tls")), names + said)
    connections = re.search(r"lost (\d+): NFS connections with TLS", said)
    handshakes = server.sum("handshakes") - before
    cases.case("an import counts connections with TLS", connections and int(connections[1]) == handshakes > 2, f"{handshakes} handshakes: {said}")
    for counted in ("TLS records of NFS connections", "calls that Kerberos has encrypted (sec=krb5p)", "calls with Kerberos, whose user"):
        cases.case(f"an import counts {counted}", re.search(r" [1-9][\d,]*: " + re.escape(counted), said), said)
    without_agreements(pcap, pcap + ".rest")
    done = subprocess.run(["fstrace", "import", pcap + ".rest", "-o", trace, "--force"], capture_output=True, text=True, check=False)
    connections = re.search(r"lost (\d+): NFS connections with TLS", done.stderr)
    cases.case("an import recognizes TLS on the port of NFS without its beginning", connections and int(connections[1]) == server.nfs.handshakes,
               f"{server.nfs.handshakes}: {done.stderr}")


def inside():
    put_on_path()
    cases = Cases()
    certificates = tls_proxy.Certificates(os.path.join(os.environ["GANESHA_DIR"], "certificates"))
    options = f"xprtsec=tls&ca={certificates.path('ca.pem')}"
    own = f"&cert={certificates.path('client.pem')}&key={certificates.path('client.key')}"
    good, mutual = Server(certificates, 100), Server(certificates, 200, wants_client=True)
    runs = {"3, tls": conformance("alike3", good.url("3", options, "/vfs/alike3")),
            "4.1, mtls": conformance("alike4.1", mutual.url("4.1", options.replace("=tls", "=mtls") + own, "/vfs/alike4.1"))}
    endings(cases, certificates, options)
    standstill(cases, certificates, options)
    words(cases, certificates, good, mutual, options)
    alike(cases, runs)
    allowed(cases, certificates, good, mutual, options)
    encrypted_captures(cases, certificates, options)
    for server in (good, mutual):
        cases.case("nothing but TLS records on the wire", server.sum("records") > 1000 and server.sum("strange_records") == 0
                   and server.sum("clear_calls") == 0, f"{server.sum('strange_records')} of {server.sum('records')}")
        cases.case("each handshake names the protocol sunrpc", 0 < server.sum("handshakes") == server.sum("with_alpn"),
                   f"{server.sum('with_alpn')} of {server.sum('handshakes')}")
    return cases.status()


if sys.argv[1:] == ["--inside"]:
    sys.exit(inside())
os.environ["NFS_KERBEROS"] = "1"
os.execv(GANESHA, [GANESHA, os.path.abspath(__file__), "--inside"])
