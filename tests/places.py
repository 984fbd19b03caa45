# SPDX-License-Identifier: Apache-2.0
"""How many tests run at once. Most of them wait more than they compute, but not all, and not always."""
import os
import time


class Places:
    """Says whether one more test may start. One more than there are processors run at any rate; up to twice as many as
    processors, and one, while these have time left. What has a low priority, such as a build beside the tests, takes what is left."""
    PERIOD = 1.0  # seconds for which time must have been left since a test started
    LEFT = 0.8  # processors without work
    MEMORY = 0.25  # of the machine's, which must be available

    def __init__(self, jobs=None):
        """`jobs`: always so many, whatever the processors do."""
        processors = len(os.sched_getaffinity(0))
        self.least = jobs or processors + 1
        self.most = jobs or 2 * processors + 1
        self.since = self.sample()

    @staticmethod
    def sample():
        """Now, and seconds of all processors since the machine started that nobody took, or only a low priority (proc_stat(5)).
        Where this process has a low priority itself, so have the tests."""
        with open("/proc/stat", encoding="ascii") as stat:
            _, nice, _, idle = map(int, stat.readline().split()[1:5])
        ticks = idle + (nice if os.nice(0) <= 0 else 0)
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def memory_left():
        with open("/proc/meminfo", encoding="ascii") as text:
            kilobytes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in text)}
        return kilobytes["MemAvailable"] / kilobytes["MemTotal"]

    def free(self, running):
        """Whether another test may start beside `running` ones. To be asked again a little later if not."""
        if running < self.least:
            self.since = self.sample()
            return True
        if running >= self.most or time.monotonic() - self.since[0] < self.PERIOD:
            return False
        before, self.since = self.since, self.sample()
        return self.since[1] - before[1] >= self.LEFT * (self.since[0] - before[0]) and self.memory_left() >= self.MEMORY
