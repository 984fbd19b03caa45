#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/run.py, interrupted, ends all that its tests started: their scripts clean up, and neither a process that made a group of its own
# nor a script that ignores the signal stays.
. "$(dirname "$0")/../harness/common.sh"

mkdir bin build
cat >bin/meson <<E
#!/bin/sh
echo '[{"name": "polite", "suite": ["once"], "cmd": ["$scratch/polite"], "env": {}, "timeout": 300, "workdir": null},
       {"name": "group", "suite": ["once"], "cmd": ["$scratch/group"], "env": {}, "timeout": 300, "workdir": null}]'
E
cat >polite <<E
#!/bin/bash
trap 'touch $scratch/cleaned; exit 143' TERM
echo \$\$ >>$scratch/started
sleep 7321 & wait \$!
E
cat >group <<E
#!/bin/bash
# The process group of timeout(1) is its own.
(timeout 7322 sleep 7323 </dev/null & echo \$! >>$scratch/started; wait) | cat
E
chmod +x bin/meson polite group
PATH=$scratch/bin:$PATH "$FSR_SOURCE/tests/run.py" build --jobs 2 >said 2>&1 & own_process $!
until [ "$(cat started 2>/dev/null | wc -l)" = 2 ] || ! kill -0 $!; do sleep 0.01; done
kill -TERM $!
wait $!
check_status 'its status is that of the signal' 0 '' [ $? = 143 ]
check 'it says so' grep -q '^interrupted: ' said
check 'a script could clean up' [ -e cleaned ]
check 'no process stays' eval '[ -s started ] && ! ps -o stat= -p "$(paste -sd, started)" | grep -v Z'
check 'nor its child in another group' eval '! ps -eo args= | grep -E "^sleep 732[13]$"'

check 'more tests start while processors are left over, and no more beside work' python3 -B - "$FSR_SOURCE/tests" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
from places import Places
from os import cpu_count

places, clock, left, memory = Places(), [0.0, 0.0], [0.0], [1.0]
def sample():
    clock[0] += 2
    clock[1] += 2 * left[0]  # seconds of processors without work
    return tuple(clock)
places.sample, places.memory_left, places.since = sample, lambda: memory[0], (0.0, 0.0)
assert all(places.free(n) for n in range(cpu_count() + 1))
assert not places.free(cpu_count() + 1)
left[0] = 1.0
memory[0] = 0.1
assert not places.free(cpu_count() + 1)
memory[0] = 1.0
assert places.free(2 * cpu_count()) and not places.free(2 * cpu_count() + 1)
fixed = Places(1)
assert fixed.free(0) and not fixed.free(1)
P

check 'a test has its processor time, and its status once it has ended' python3 -B - "$FSR_SOURCE/tests" <<'P'
import subprocess
import sys
sys.path.insert(0, sys.argv[1])
from run import ends_within, processor_time

script = subprocess.Popen(["sh", "-c", f"{sys.executable} -c 'sum(range(5_000_000))'; exit 3"])
assert ends_within(script.pid, 100) and processor_time(script.pid) > 0.02
assert script.wait() == 3
sleeper = subprocess.Popen(["sleep", "100"])
assert not ends_within(sleeper.pid, 0.1)
sleeper.kill()
assert ends_within(sleeper.pid, 100) and sleeper.wait() == -9
P
