# SPDX-License-Identifier: Apache-2.0
"""Hosts of a cluster on one machine: network and UTS namespaces on a bridge. The caller's own namespace is the server's; what is run
inside a host is started there by an agent, as ssh would. To be used in a mount namespace of one's own, as a test has it."""
import os
import subprocess
import tempfile

NAMES = ["h1", "h2", "h3", "h4"]
SERVER = "10.9.0.254"


def sh(*command, **options):
    subprocess.run(command, check=True, **options)


class Hosts:
    """Four hosts. `agent` starts a command on one of them: agent HOST WORDS..."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="fsshim-hosts.")
        self.holders = {}
        sh("ip", "link", "add", "br0", "type", "bridge")
        sh("ip", "addr", "add", f"{SERVER}/24", "dev", "br0")
        sh("ip", "link", "set", "br0", "up")
        for number, name in enumerate(NAMES, 1):
            # Says when it is there.
            holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", f"hostname {name}; echo; exec sleep infinity"], stdout=subprocess.PIPE)
            holder.stdout.read(1)
            self.holders[name] = holder
            sh("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            sh("ip", "link", "set", name, "master", "br0", "up")
            for words in (["addr", "add", f"10.9.0.{number}/24", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
                sh(*self.on(name), "ip", *words)
        with open(f"{self.folder}/hosts", "w", encoding="utf-8") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"10.9.0.{number} {name}\n" for number, name in enumerate(NAMES, 1)))
        sh("mount", "--bind", f"{self.folder}/hosts", "/etc/hosts")
        self.agent = f"{self.folder}/agent"
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncase $1 in\n" + "".join(f"{name}) holder={holder.pid} ;;\n" for name, holder in self.holders.items())
                       + '*) echo "no host $1" >&2; exit 255 ;;\nesac\nshift\nexec nsenter --target "$holder" --net --uts sh -c "$*"\n')
        os.chmod(self.agent, 0o755)

    def processes(self, name, program):
        """Of that program, on that host."""
        def is_one(pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    return file.read().strip() == program and os.readlink(f"/proc/{pid}/ns/uts") == here
            except OSError:  # it has ended
                return False
        here = os.readlink(f"/proc/{self.holders[name].pid}/ns/uts")
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_one(pid)]

    def on(self, name):
        return ["nsenter", "--target", str(self.holders[name].pid), "--net", "--uts"]

    def mpirun(self, *words):
        """A command that starts a rank on each host, from the first."""
        settings = {"plm_rsh_agent": self.agent, "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
        return [*self.on("h1"), "mpirun", *[word for name, value in settings.items() for word in ("--mca", name, value)], "-x", "LD_LIBRARY_PATH",
                "--host", ",".join(NAMES), *words]

    def link(self, name, state):
        sh("ip", "link", "set", name, state)

    def end(self):
        sh("umount", "/etc/hosts")
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
        sh("ip", "link", "del", "br0")
        sh("rm", "-r", self.folder)
