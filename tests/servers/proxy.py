# SPDX-License-Identifier: Apache-2.0
"""A proxy between a client and a server that passes whole messages (wires.py) and commits a fault (faults.py) on the way. For the
tests of the protocols, beside the servers of this folder."""
import socket
import threading
import time


class Link:
    """One connection of the client, and ours to the server. Both directions may send to the client: each message is whole."""

    def __init__(self, client, server, wire, number):
        self.client, self.server, self.wire, self.number = client, server, wire, number
        self.requests = self.replies = 0
        self.sending = threading.Lock()

    def answer(self, body):
        self.send(self.wire.framed(body))

    def send(self, octets):
        with self.sending:
            self.client.sendall(octets)

    def forward(self, body):
        self.server.sendall(self.wire.framed(body))

    def end(self):
        for stream in (self.client, self.server):
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Proxy:
    """Listens on `port` of loopback for a server on `server_port`."""

    def __init__(self, wire, fault, server_port, port):
        self.wire, self.fault, self.server_port = wire, fault, server_port
        self.passing = threading.Event()
        self.passing.set()
        self.links = []
        self.wrong_openings = 0  # connections that began with what only a later request may be
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = self.connect()
            if not server:
                client.close()
                continue
            for stream in (client, server):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = Link(client, server, self.wire, len(self.links))
            self.links.append(link)
            for work in (self.requests, self.replies):
                threading.Thread(target=work, args=(link,), daemon=True).start()

    def connect(self, patience=3):
        """To a server that may be about to come back."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                return socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                time.sleep(0.02)
        return None

    def requests(self, link):
        try:
            while True:
                body = self.wire.receive_message(link.client)
                link.requests += 1
                if link.requests == 1 and not self.wire.opens_connection(body):
                    self.wrong_openings += 1
                body = self.fault.request(link, body)
                self.passing.wait()
                if body is not None:
                    link.forward(body)
        except OSError:
            link.end()

    def replies(self, link):
        try:
            while True:
                body = self.wire.receive_message(link.server)
                link.replies += 1
                octets = self.fault.reply(link, body)
                if octets is None:
                    break
                self.passing.wait()
                link.send(octets)
        except OSError:
            pass
        link.end()

    def await_requests(self, count, client=None, patience=30):
        """Until so many have come, or the process `client` has ended."""
        until = time.monotonic() + patience
        while sum(link.requests for link in self.links) < count and time.monotonic() < until and not (client and client.poll() is not None):
            time.sleep(0.01)

    def pause(self):
        """Says nothing any more, and takes nothing."""
        self.passing.clear()

    def go_on(self):
        self.passing.set()

    def cut(self):
        """Ends all connections."""
        for link in self.links:
            link.end()

    def refuse(self):
        """Is there no longer."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # already
        self.listener.close()
        self.cut()

    def close(self):
        self.go_on()
        self.refuse()
