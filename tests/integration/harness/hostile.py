# SPDX-License-Identifier: Apache-2.0
"""A target against a server that lies: replies of a real one pass through a proxy that damages some of them. Whatever it does, the
client must end by itself, without a crash, in time and in bounded memory. Used by the tests of each protocol."""
import os
import resource
import subprocess
import sys

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
MEMORY_LIMIT = 768 << 20  # with AddressSanitizer's share

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "servers"))


def beside(server):
    """Begins again as the command of that server, unless it is."""
    if "BESIDE" not in os.environ:
        script = os.path.join(SOURCE, "tests/servers", server)
        os.execve(script, [script, sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]], os.environ | {"BESIDE": server})


def attack(proxy, url, all_right=False):
    """Runs the conformance suite on `url`, which leads through `proxy`, and prints what came of it. True: as it must be, which
    with `all_right` is that every case passes all the same."""
    problem = None
    try:
        done = subprocess.run([os.path.join(BUILD, "tests/integration/target_conformance"), url], capture_output=True, timeout=150,
                              check=False, text=True, errors="replace")
        if all_right and done.returncode == 1:
            problem = next(line for line in done.stdout.splitlines() if line.startswith("not ok"))
        elif done.returncode not in (0, 1):
            problem = f"ended with {done.returncode}: {done.stderr[-500:]}"
        elif proxy.fault.times == 0:
            problem = "no fault was committed"
        elif done.stdout.count("ok - ") < 20:
            problem = f"not all cases ran: {done.stdout[-500:]}"
    except subprocess.TimeoutExpired:
        problem = "did not end"
    proxy.close()
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if memory > MEMORY_LIMIT:
        problem = f"took {memory >> 20} MiB"
    name = proxy.fault.name()
    print(f"not ok - {name}: {problem}" if problem else f"ok - {name}, {proxy.fault.times} times", flush=True)
    return problem is None
