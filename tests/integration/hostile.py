# SPDX-License-Identifier: Apache-2.0
"""A target against a server that lies: replies of a real one pass through a proxy that damages some of them. Whatever it does, the
client must end by itself, without a crash, in time and in bounded memory. Used by the tests of each protocol."""
import os
import random
import resource
import socket
import subprocess
import threading

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
MEMORY_LIMIT = 768 << 20  # with AddressSanitizer's share


def receive(stream, size):
    parts = b""
    while len(parts) < size:
        part = stream.recv(size - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts


class Wire:
    """One protocol's framing. `head`: bytes of a message that say whose it is, its damage would only make it a stranger's."""
    head = 0

    def receive_message(self, stream):
        raise NotImplementedError

    def framed(self, body):
        raise NotImplementedError

    def oversized(self, body, chance):
        raise NotImplementedError

    def strange(self, body, chance):
        raise NotImplementedError

    def damaged_from(self, body):
        return min(self.head, len(body) - 1)


# Each returns what to send instead of a reply, or None to close the connection.
def flip(wire, body, chance):
    damaged = bytearray(body)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(wire.damaged_from(body), len(damaged))] = chance.randrange(256)
    return wire.framed(bytes(damaged))


def cut(wire, body, chance):
    return wire.framed(body[:chance.randrange(wire.damaged_from(body), len(body))])


def huge_length(wire, body, chance):
    return wire.oversized(body, chance)


def garbage(_, __, chance):
    return chance.randbytes(chance.randrange(1, 5000))


def stranger(wire, body, chance):
    return wire.framed(wire.strange(body, chance))


def twice(wire, body, _):
    return wire.framed(body) * 2


def hang_up(_, __, ___):
    return None


def silence(_, __, ___):
    return b""


class Proxy:
    """Lets the first `honest` connections pass, and after that damages one reply of `every` but each connection's first `greeting`."""

    def __init__(self, wire, damage, every, port, listen_port, honest=1, greeting=0):
        self.wire, self.damage, self.every, self.port = wire, damage, every, port
        self.honest, self.greeting = honest, greeting
        self.chance = random.Random(7)
        self.damaged = 0
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", listen_port))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for stream in (client, server):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            honest = self.connections < self.honest
            self.connections += 1
            for work in (lambda c=client, s=server: self.forward(c, s), lambda c=client, s=server, h=honest: self.answer(c, s, h)):
                threading.Thread(target=work, daemon=True).start()

    def forward(self, client, server):
        try:
            while data := client.recv(1 << 16):
                server.sendall(data)
        except OSError:
            pass
        self.end(client, server)

    def answer(self, client, server, honest):
        greeted = 0
        try:
            while True:
                body = self.wire.receive_message(server)
                reply = self.wire.framed(body)
                greeted += 1
                if not honest and greeted > self.greeting and self.chance.randrange(self.every) == 0:
                    self.damaged += 1
                    reply = self.damage(self.wire, body, self.chance)
                    if reply is None:
                        break
                client.sendall(reply)
        except OSError:
            pass
        self.end(client, server)

    @staticmethod
    def end(*streams):
        for stream in streams:
            try:
                stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def attack(proxy, url, all_right=False):
    """Runs the conformance suite on `url`, which leads through `proxy`, and prints what came of it. True: as it must be, which
    with `all_right` is that every case passes all the same."""
    name = proxy.damage.__name__.replace("_", " ")
    problem = None
    try:
        done = subprocess.run([os.path.join(BUILD, "tests/integration/target_conformance"), url], capture_output=True, timeout=150,
                              check=False, text=True, errors="replace")
        if all_right and done.returncode == 1:
            problem = next(line for line in done.stdout.splitlines() if line.startswith("not ok"))
        elif done.returncode not in (0, 1):
            problem = f"ended with {done.returncode}: {done.stderr[-500:]}"
        elif proxy.damaged == 0:
            problem = "no reply was damaged"
        elif done.stdout.count("ok - ") < 20:
            problem = f"not all cases ran: {done.stdout[-500:]}"
    except subprocess.TimeoutExpired:
        problem = "did not end"
    proxy.close()
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if memory > MEMORY_LIMIT:
        problem = f"took {memory >> 20} MiB"
    print(f"not ok - {name}: {problem}" if problem else f"ok - {name}, {proxy.damaged} times", flush=True)
    return problem is None
