# SPDX-License-Identifier: Apache-2.0
"""A proxy that speaks RPC over TLS (RFC 9289) with a client and clear text with a server that lacks TLS, such as Debian's Ganesha. It
checks that the client asks for TLS first, and then sends nothing but TLS records. Certificates are made by openssl(1)."""
import os
import select
import socket
import ssl
import struct
import subprocess
import threading

import wires

AUTH_TLS = 7
RECORD_TYPES = range(20, 24)  # of TLS
LONGEST_RECORD = (1 << 14) + 256


class Certificates:
    """Files in a directory: ca.pem; NAME.pem and NAME.key of servers (good, expired, ...) and clients (client); stranger.pem and
    stranger-client, which belong to another authority."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        self.authority("ca")
        self.authority("stranger")
        names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
        self.issue("good", "ca", names)
        self.issue("expired", "ca", names, days=-1)
        self.issue("elsewhere", "ca", "subjectAltName=DNS:elsewhere.example")
        self.issue("for-clients", "ca", names + "\nextendedKeyUsage=clientAuth")
        self.issue("for-rpc", "ca", names + "\nextendedKeyUsage=1.3.6.1.5.5.7.3.34")  # RFC 9289, section 5.2.1
        self.issue("without-signatures", "ca", names + "\nkeyUsage=critical,keyAgreement")
        self.issue("misnamed", "ca", "subjectAltName=DNS:127.0.0.1,IP:192.0.2.7")
        self.issue("client", "ca", "subjectAltName=DNS:client.example")
        self.issue("stranger-client", "stranger", "subjectAltName=DNS:client.example")

    def path(self, name):
        return os.path.join(self.directory, name)

    def openssl(self, *arguments, **more):
        return subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more).stdout

    def key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.path(name + ".key"), "-subj", f"/CN={name}"]

    def authority(self, name):
        self.openssl("req", "-x509", *self.key(name), "-days", "2", "-out", self.path(name + ".pem"))

    def issue(self, name, authority, extension, days=2):
        request = self.openssl("req", "-new", *self.key(name))
        with open(self.path(name + ".ext"), "w", encoding="utf-8") as out:
            out.write(extension + "\n")
        self.openssl("x509", "-req", "-CA", self.path(authority + ".pem"), "-CAkey", self.path(authority + ".key"), "-CAcreateserial",
                     "-days", str(days), "-extfile", self.path(name + ".ext"), "-out", self.path(name + ".pem"), input=request)

    def context(self, name="good", wants_client=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        context.set_alpn_protocols(["sunrpc"])
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.pem"))
        return context


class Link:
    """One connection of the client. One thread, because OpenSSL lets only one use a connection at a time."""

    def __init__(self, proxy, client):
        self.proxy, self.client, self.server = proxy, client, None
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = None
        self.head = b""  # of the client's present record
        self.body = 0    # bytes of it to come
        self.requests = 0  # bytes
        self.cuts_record = self.says_goodbye = False

    def serve(self):
        try:
            if self.proxy.context:
                self.begin()
                self.pass_on()
            else:
                self.pass_clear_text()
        except (OSError, struct.error):
            self.proxy.failures += 1
        self.end()
        for stream in (self.client, self.server):
            if stream:
                stream.close()

    def begin(self):
        wire = wires.Rpc()
        call = wire.receive_message(self.client)
        if struct.unpack_from(">I", call, 4)[0] != 0 or struct.unpack_from(">2I", call, 20) != (0, AUTH_TLS):
            self.proxy.clear_calls += 1
            raise ConnectionError
        self.client.sendall(wire.framed(call[:4] + struct.pack(">4I", 1, 0, 0, 8) + b"STARTTLS" + struct.pack(">I", 0)))
        if self.proxy.hangs.acquire(blocking=False):
            self.proxy.hung += 1
            while self.client.recv(4096):
                pass
            raise ConnectionError
        self.tls = self.proxy.context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.flush()
                self.take()
            except ssl.SSLError:
                self.flush()  # the alert
                raise
        self.flush()
        self.server = self.proxy.connect()
        self.proxy.handshakes += 1
        self.proxy.with_alpn += self.tls.selected_alpn_protocol() == "sunrpc"

    def take(self):
        octets = self.client.recv(1 << 18)
        if not octets:
            raise ConnectionError
        self.check(octets)
        self.incoming.write(octets)

    def check(self, octets):
        """Counts what is no TLS record."""
        at = 0
        while at < len(octets):
            if self.body:
                passed = min(self.body, len(octets) - at)
                self.body -= passed
                at += passed
                continue
            self.head += octets[at:at + 1]
            at += 1
            if len(self.head) == 5:
                kind, version, self.body = struct.unpack(">BHH", self.head)
                self.proxy.strange_records += kind not in RECORD_TYPES or version >> 8 != 3 or self.body > LONGEST_RECORD
                self.proxy.records += 1
                self.head = b""

    def flush(self):
        octets = self.outgoing.read()
        if self.cuts_record and len(octets) > 1:
            self.client.sendall(octets[:len(octets) // 2])
            raise ConnectionError
        self.client.sendall(octets)

    def pass_on(self):
        while self.receive():  # what came together with the end of the handshake
            pass
        self.flush()
        while True:
            ready = self.ready()
            if self.client in ready:
                self.take()
                while self.receive():
                    pass
                self.flush()  # what TLS itself has to say
            if self.server in ready:
                octets = self.server.recv(1 << 18)
                if not octets:
                    raise ConnectionError
                self.tls.write(octets)
                self.flush()
                if self.says_goodbye:
                    return self.say_goodbye()

    def ready(self):
        """Waits until the client or the server has sent something."""
        poll = select.poll()
        for stream in (self.client, self.server):
            poll.register(stream, select.POLLIN)
        number = [fd for fd, _ in poll.poll()]
        return [stream for stream in (self.client, self.server) if stream.fileno() in number]

    def pass_clear_text(self):
        self.server = self.proxy.connect()
        while True:
            for stream in self.ready():
                octets = stream.recv(1 << 18)
                if not octets:
                    return
                if stream is self.client:
                    self.requests += len(octets)
                (self.server if stream is self.client else self.client).sendall(octets)

    def receive(self):
        try:
            octets = self.tls.read(1 << 18)
        except ssl.SSLWantReadError:
            return False
        if not octets:
            raise ConnectionError
        self.requests += len(octets)
        self.server.sendall(octets)
        return True

    def say_goodbye(self):
        """Ends the TLS connection, and leaves the end of TCP to the client."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass  # the client has not said goodbye yet
        self.flush()
        while self.client.recv(4096):
            pass

    def end(self):
        for stream in (self.client, self.server):
            try:
                if stream:
                    stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class TlsProxy:
    """Listens on `port` of loopback for a server on `server_port`. `context`: of TLS; None: passes clear text on."""

    def __init__(self, context, server_port, port, server_host="127.0.0.1"):
        self.context, self.server = context, (server_host, server_port)
        self.hangs = threading.Semaphore(0)  # handshakes that are to stand still
        self.hung = self.clear_calls = self.strange_records = self.records = self.handshakes = self.with_alpn = self.failures = 0
        self.links = []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=256)
        threading.Thread(target=self.listen, daemon=True).start()

    def connect(self):
        server = socket.create_connection(self.server)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.links.append(Link(self, client))
            threading.Thread(target=self.links[-1].serve, daemon=True).start()

    def cut(self):
        """Ends all connections."""
        for link in self.links:
            link.end()

    def cut_records(self):
        """Ends each connection in the middle of the next record to the client."""
        for link in self.links:
            link.cuts_record = True

    def say_goodbye(self):
        """Ends TLS behind the next record to the client."""
        for link in self.links:
            link.says_goodbye = True
