# SPDX-License-Identifier: Apache-2.0
"""What the study measures: a protocol on a server, with options of its client; and the servers, which run on this machine."""
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SERVERS, VM = os.path.join(SOURCE, "tests/servers"), os.path.join(SOURCE, "tests/vm")
BUILD = os.path.abspath(os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build"))
FSBENCH = os.path.join(BUILD, "tools/fsbench")
NINEP = os.path.join(BUILD, "tests/integration/ninep-server/release/ninep-server")
RELAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
PORTS = {"diod": 15640, "qemu": 15650, "ninep-server": 15660, "u9fs": 15670}
FIRST_RELAY = 15700
SERVER_NAMES = {"ganesha": "NFS-Ganesha", "diod": "diod", "qemu": "QEMU's server through qemu-9p of the tests", "ninep-server": "ninep-server of the tests",
                "u9fs": "u9fs", "knfsd": "Linux's own in a virtual machine", "given": "the one given"}


class Failed(Exception):
    """A part of the study could not be measured. Its text is the line that the user sees."""


@dataclasses.dataclass
class Target:
    """`options`: of the URL, or of a mount. `place`: a URL or a directory that the user gave, which no server here serves.
    `seen`: what is known of such a place."""
    name: str
    protocol: str  # nfs3, nfs4, 9p2000.L, 9p2000.u, 9p2000; of a given place also 9p, a file system's type or a URL's scheme
    server: str
    options: str = ""
    place: str = ""
    export: str = ""
    seen: str = ""

    def is_nfs(self):
        return self.protocol.startswith("nfs")

    def port(self):
        return {"ganesha": int(os.environ.get("NFS_PORT", 2049)), "knfsd": 2049}.get(self.server) or PORTS[self.server]

    def url(self, directory, port=None):
        """`port`: of a relay in front of the server."""
        if self.place:
            return self.place
        port = port or self.port()
        if self.is_nfs():
            version = "3" if self.protocol == "nfs3" else "4.1"
            if self.server == "knfsd":
                path, mount = ("/export" if version == "3" else "") + self.export, 20048
            else:
                path, mount = os.environ["NFS_VFS_EXPORT"], os.environ["MOUNT_PORT"]
            mountport = f"&mountport={mount}" if version == "3" else ""
            return f"nfs://127.0.0.1{path}?version={version}&nfsport={port}{mountport}{self.options and '&' + self.options}"
        name = {"qemu": "/", "u9fs": "", "ninep-server": ""}.get(self.server, directory)
        return f"9p://127.0.0.1:{port}/?dialect={self.protocol}{name and '&aname=' + name}{self.options and '&' + self.options}"

    def mount(self, directory, port=None):
        """The guest's command, for which the host's loopback is 10.0.2.2."""
        port = port or self.port()
        if self.is_nfs():
            version = "vers=3,mountproto=tcp,mountport=" + os.environ["MOUNT_PORT"] if self.protocol == "nfs3" else "vers=4.1"
            options = f"nolock,proto=tcp,addr=10.0.2.2,port={port},{version}{self.options and ',' + self.options}"
            return f'mount -t nfs -o "{options}" "10.0.2.2:{os.environ["NFS_VFS_EXPORT"]}" "/mnt/{self.name}"'
        name = {"qemu": "/", "ninep-server": ""}.get(self.server, directory)
        options = f"trans=tcp,dfltuid=0,dfltgid=0,uname=root,port={port},version={self.protocol}{name and ',aname=' + name}{self.options and ',' + self.options}"
        return f'mount -t 9p -o "{options}" 10.0.2.2 "/mnt/{self.name}"'


PROTOCOLS = [Target("NFSv3", "nfs3", "ganesha"), Target("NFSv4.1", "nfs4", "ganesha"), Target("9P2000.L", "9p2000.L", "diod"),
             Target("9P2000.u", "9p2000.u", "qemu"), Target("9P2000", "9p2000", "ninep-server")]


def answers(port, host="127.0.0.1"):
    try:
        socket.create_connection((host, port), timeout=3).close()
    except (OSError, UnicodeError):  # the latter: no name of a host
        return False
    return True


class Server:
    """A server process that runs until close(). It is started again if it ends, because diod 1.0.24 can die when a connection ends."""

    def __init__(self, port, *command):
        self.command, self.closing = command, False
        self.start()
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()
        for _ in range(500):
            if answers(port):
                return
            time.sleep(0.02)
        self.close()
        raise Failed(f"{command[0]} did not start on port {port}")

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def keep(self):
        while self.process.wait() is not None and not self.closing:
            time.sleep(0.1)
            self.start()

    def close(self):
        self.closing = True
        self.process.terminate()
        self.keeper.join()


class ServerOfConnections:
    """Starts the program for each connection, as inetd(8) does."""

    def __init__(self, port, *command):
        self.command, self.running = command, []
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.running = [p for p in self.running if p.poll() is None]
                self.running.append(subprocess.Popen(self.command, stdin=client, stdout=client, stderr=subprocess.DEVNULL, start_new_session=True))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for process in self.running:
            process.terminate()
            process.wait()


class Knfsd:
    """Linux's NFS server in a guest with a disk of its own, of which /sync and /async are exported so."""

    def __init__(self, scratch):
        self.share = os.path.join(scratch, "knfsd")
        os.mkdir(self.share)
        disk = os.path.join(scratch, "disk")
        with open(disk, "wb") as image:
            image.truncate(2 << 30)
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-N", "131072", disk], check=True)
        utils = subprocess.run([f"{VM}/fetch-package", "nfs-kernel-server"], capture_output=True, text=True, check=True).stdout.strip() + "/usr/sbin"
        programs = [f"{utils}/{name}" for name in ("exportfs", "rpc.mountd", "rpc.nfsd")] + [shutil.which("rpcbind", path="/usr/sbin:/sbin")]
        files = ["/etc/netconfig", "/etc/services", "/etc/protocols", "/etc/rpc"]
        self.guest = subprocess.Popen(
            [f"{VM}/run", "--share", self.share, "--timeout", "86400", "--disk", disk, "--module", "nfsd", "--module", "ext4",
             *[word for name in programs for word in ("--program", name)], *[word for name in files for word in ("--file", name)],
             *[word for port in (2049, 20048) for word in ("--forward", f"{port}:{port}")], f"{VM}/knfsd"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        for _ in range(600):
            if os.path.exists(f"{self.share}/ready"):
                return
            if self.guest.poll() is not None:
                break
            time.sleep(0.2)
        self.end()
        raise Failed("the guest did not serve NFS")

    def end(self):
        if self.guest.poll() is None:
            os.killpg(self.guest.pid, signal.SIGTERM)

    def close(self):
        with open(f"{self.share}/done", "w", encoding="ascii"):
            pass
        self.guest.wait()


def serve(stack, servers, directory, scratch, u9fs):
    """Starts those of `servers` that are not Ganesha, until `stack` ends."""
    commands = {"diod": ("/usr/sbin/diod", "-f", "-n", "-N", "-l", f"127.0.0.1:{PORTS['diod']}", "-e", directory),
                "qemu": (f"{SERVERS}/qemu-9p", directory, str(PORTS["qemu"]), "passthrough"),
                "ninep-server": (NINEP, directory, str(PORTS["ninep-server"]))}
    for name in sorted(servers):
        if name in commands:
            stack.callback(Server(PORTS[name], *commands[name]).close)
        elif name == "u9fs":
            stack.callback(ServerOfConnections(PORTS[name], u9fs, "-a", "none", "-u", "root", "-l", "/dev/null", directory).close)
        elif name == "knfsd":
            stack.callback(Knfsd(scratch).close)


class Relays:
    """A relay in front of each target's server, which counts requests and adds `delay` ms to a round trip."""

    def __init__(self, targets, delay=0):
        self.processes, self.ports, self.reports = {}, {}, {}
        for number, target in enumerate(targets):
            port = FIRST_RELAY + number
            self.ports[target.name] = port
            self.processes[target.name] = subprocess.Popen(
                [sys.executable, RELAY, "nfs" if target.is_nfs() else "9p", str(port), f"127.0.0.1:{target.port()}", "--delay", str(delay)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for process in self.processes.values():
            if process.stdout.readline() != "ready\n":
                self.close()
                raise Failed("a relay did not start")

    def close(self):
        for name, process in self.processes.items():
            if name in self.reports:
                continue
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            self.reports[name] = json.loads(process.communicate()[0] or "{}")
