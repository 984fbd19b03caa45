# SPDX-License-Identifier: Apache-2.0
"""Passes bytes between clients and an AFP server, in one thread, and keeps the head of each request. Adds little to what a command
takes, unlike proxy.py, which looks at every message."""
import selectors
import socket
import struct
import threading

HEAD = 16
KEPT = 80  # bytes of a request


class Requests:
    """Cuts one connection's stream into requests."""

    def __init__(self, into):
        self.into, self.begun, self.skip = into, b"", 0

    def feed(self, octets):
        if self.skip >= len(octets):
            self.skip -= len(octets)
            return
        rest, self.skip = self.begun + octets[self.skip:], 0
        at = 0
        while len(rest) - at >= HEAD:
            whole = HEAD + struct.unpack_from(">I", rest, at + 8)[0]
            if len(rest) - at < min(whole, KEPT):
                break
            self.into.append(rest[at:at + min(whole, KEPT)])
            at += whole
            if at > len(rest):
                self.skip, at = at - len(rest), len(rest)
        self.begun = rest[at:]


class Wiretap:
    """Listens on `port` of loopback for a server on `server_port`. `requests`: (DSI head and command) in the order they came."""

    def __init__(self, server_port, port):
        self.requests, self.server_port = [], server_port
        self.listener = socket.create_server(("127.0.0.1", port))
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.listener, selectors.EVENT_READ)
        self.ended, self.to_end = socket.socketpair()
        self.ready.register(self.ended, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.pass_on, daemon=True)
        self.thread.start()

    def accept(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server_port))
        for stream, other, requests in ((client, server, Requests(self.requests)), (server, client, None)):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ready.register(stream, selectors.EVENT_READ, (other, requests))

    def pass_on(self):
        while True:
            for key, _ in self.ready.select():
                if key.fileobj is self.ended:
                    return
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fd >= 0:
                    self.move(key.fileobj, *key.data)

    def move(self, stream, other, requests):
        try:
            octets = stream.recv(1 << 20)
            if octets:
                if requests:
                    requests.feed(octets)
                other.sendall(octets)
                return
        except OSError:
            pass
        for end in (stream, other):
            if end.fileno() >= 0:
                self.ready.unregister(end)
                end.close()

    def close(self):
        self.to_end.send(b"x")
        self.thread.join()
        for key in list(self.ready.get_map().values()):
            key.fileobj.close()
