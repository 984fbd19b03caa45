# SPDX-License-Identifier: Apache-2.0
"""tcpdump's record of the loopback device."""
import contextlib
import re
import signal
import subprocess
import time

PATIENCE = 20  # seconds for what the kernel hands over after one


def all_is_written(dump):
    """Asks tcpdump for its counts. The loopback device shows each packet to the filter twice, as it leaves and as it comes."""
    dump.send_signal(signal.SIGUSR1)
    counts = re.match(r"tcpdump: (\d+) packets? captured, (\d+) packets? received by filter, (\d+) packets? dropped", dump.stderr.readline())
    return counts and 2 * int(counts[1]) >= int(counts[2]) - int(counts[3])


@contextlib.contextmanager
def captured(cases, pcap, which="tcp"):
    """tcpdump of the loopback device while the body runs. `which`: packets, as a filter of tcpdump."""
    dump = subprocess.Popen(["tcpdump", "-i", "lo", "-s", "0", "-B", "32768", "-w", pcap, "-Z", "root", "-U", which],
                            stderr=subprocess.PIPE, text=True)
    whole = False
    try:
        dump.stderr.readline()  # "listening on lo"
        yield
        until = time.monotonic() + PATIENCE
        while not (whole := all_is_written(dump)) and dump.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        dump.send_signal(signal.SIGINT)
        told = dump.communicate()[1]
    cases.case("tcpdump lost nothing", whole and "0 packets dropped by kernel" in told, told)
