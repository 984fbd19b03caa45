# SPDX-License-Identifier: Apache-2.0
"""What the tests of a protected NFS (Kerberos, TLS) share: a mix in the background and what its report has, and the conformance tests.
They run beside tests/servers/ganesha, with the built programs on the path."""
import json
import os
import subprocess
import time

from lower_fs import built

FILES = 60  # of a stream, at least


def stat(target, **environment):
    return subprocess.run(["fsreplay", "target", "stat", target], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


class Mix:
    """A mix in the background, in a directory of its own below the export /vfs of `target`. `load`: operations a second."""

    def __init__(self, name, target, streams, load, duration, **environment):
        self.path = os.path.join(os.environ["GANESHA_DIR"], name + ".json")
        self.directory = os.path.join(os.environ["NFS_VFS_DIR"], name)
        self.files = streams * FILES
        os.mkdir(self.directory)
        with open(self.path, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(["fsreplay", "mix:sfs97-v3", target.replace("/vfs", f"/vfs/{name}"), "--streams", str(streams), "--load", str(load),
                                             "--duration", duration, "--json", "-q"], stdout=out, stderr=subprocess.STDOUT,
                                            env=dict(os.environ, **environment))

    def await_preparation(self):
        while sum(len(files) for _, _, files in os.walk(self.directory)) < self.files and self.process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.5)  # into the run

    def report(self):
        self.process.wait()
        with open(self.path, encoding="utf-8") as out:
            text = out.read()
        return json.loads(text) if text.startswith("{") else {"counters": {}, "text": text}


def counter(report, begin):
    """Sum of the counters whose names begin so."""
    return sum(count for name, count in report["counters"].items() if name.startswith(begin))


def seen(report):
    return f"{report.get('failed')} failed, {report.get('not_clean')}, {report['counters']} {report.get('text', '')}"


def conformance(directory, target):
    """What every target must do alike, in the background. `directory`: that of `target` below the export, which is made."""
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    return subprocess.Popen([built("tests/integration/target_conformance"), target, "--privileged"], stdout=subprocess.PIPE, text=True)


def alike(cases, runs):
    """The cases of such runs, each below its name."""
    for name, run in runs.items():
        out, _ = run.communicate()
        print("\n".join(line.replace(" - ", f" - {name}: ", 1) for line in out.splitlines() if line.startswith(("ok", "not ok"))))
        cases.case(f"{name}: the conformance tests end well", run.returncode == 0, str(run.returncode))
