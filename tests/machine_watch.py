# SPDX-License-Identifier: Apache-2.0
"""Whether the machine ran as it should while a test failed."""
import os
import threading
import time


class MachineWatch:
    """Notes when the machine did not run: this process woke up late, or the host of a virtual machine took much of a second."""
    LATE = 0.2  # seconds
    STOLEN = 0.2  # of the processors' time in a second

    def __init__(self):
        self.disturbances = []  # (from, to), seconds of time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()

    @staticmethod
    def stolen():
        """Seconds that the host took from all processors since the machine started (proc_stat(5))."""
        with open("/proc/stat", encoding="ascii") as stat:
            return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")

    def watch(self):
        since, before = time.monotonic(), self.stolen()
        last = since
        while True:
            time.sleep(0.05)
            now = time.monotonic()
            if now - last > self.LATE:
                self.disturbances.append((last, now))
            last = now
            if now - since >= 1:
                after = self.stolen()
                if after - before > self.STOLEN * os.cpu_count() * (now - since):
                    self.disturbances.append((since, now))
                since, before = now, after

    def disturbed(self, since):
        return any(end > since for _, end in self.disturbances)
