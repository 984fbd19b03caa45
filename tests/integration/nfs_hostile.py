#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv3 target against a server that lies: replies of a real one pass through a proxy that damages some of them. Whatever it
does, the client must end by itself, without a crash, in time and in bounded memory, and say how much it could not understand."""
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import threading

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
PROXY_PORT = 12999
MEMORY_LIMIT = 768 << 20  # with AddressSanitizer's share


def receive(stream, size):
    parts = b""
    while len(parts) < size:
        part = stream.recv(size - len(parts))
        if not part:
            raise ConnectionError
        parts += part
    return parts


def receive_message(stream):
    body, last = b"", False
    while not last:
        mark = struct.unpack(">I", receive(stream, 4))[0]
        last = bool(mark >> 31)
        body += receive(stream, mark & 0x7FFFFFFF)
    return body


def framed(body):
    return struct.pack(">I", len(body) | 1 << 31) + body


# Each returns what to send instead of a reply, or None to close the connection.
def flip(body, chance):
    damaged = bytearray(body)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
    return framed(bytes(damaged))


def cut(body, chance):
    return framed(body[:chance.randrange(8, len(body))])


def huge_length(body, chance):
    return struct.pack(">I", chance.choice([0x7FFFFFFF, 0xFFFFFFFF, 0x80000000 | len(body) + 50_000_000])) + body


def huge_count(body, chance):
    at = chance.randrange(24, len(body) - 3) & ~3
    return framed(body[:at] + b"\xff\xff\xff\xff" + body[at + 4:])


def garbage(body, chance):
    return chance.randbytes(chance.randrange(1, 5000))


def stranger(body, chance):
    return framed(struct.pack(">I", chance.getrandbits(32)) + body[4:])


def twice(body, chance):
    return framed(body) * 2


def pieces(body, chance):
    return struct.pack(">I", 0) * 1000 + b"".join(struct.pack(">I", 1) + body[i:i + 1] for i in range(len(body))) + struct.pack(">I", 1 << 31)


def hang_up(body, chance):
    return None


def silence(body, chance):
    return b""


class Proxy:
    """Lets the first connection pass, which is the set-up's, and damages one reply of `every` on those after it."""

    def __init__(self, damage, every, port):
        self.damage, self.every, self.port = damage, every, port
        self.chance = random.Random(7)
        self.damaged = 0
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", PROXY_PORT))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            honest = self.connections == 0
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
        try:
            while True:
                body = receive_message(server)
                reply = framed(body)
                if not honest and self.chance.randrange(self.every) == 0:
                    self.damaged += 1
                    reply = self.damage(body, self.chance)
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


def run(damage, every):
    name = damage.__name__.replace("_", " ")
    directory = f"hostile-{damage.__name__}"
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    proxy = Proxy(damage, every, int(os.environ["NFS_PORT"]))
    url = f"nfs://127.0.0.1/vfs/{directory}?nfsport={PROXY_PORT}&mountport={os.environ['MOUNT_PORT']}&timeout=1"
    problem = None
    try:
        done = subprocess.run([os.path.join(BUILD, "tests/integration/target_conformance"), url], capture_output=True, timeout=150,
                              check=False, text=True, errors="replace")
        if done.returncode not in (0, 1):
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


def main():
    if "NFS_HOST" not in os.environ:
        ganesha = os.path.join(SOURCE, "tests/servers/ganesha")
        os.execv(ganesha, [ganesha, sys.executable, os.path.abspath(__file__)])
    good = [run(damage, every) for damage, every in
            ((flip, 20), (cut, 20), (huge_length, 50), (huge_count, 20), (garbage, 50), (stranger, 2000), (twice, 20), (pieces, 20),
             (hang_up, 50), (silence, 3000))]
    sys.exit(0 if all(good) else 1)


main()
