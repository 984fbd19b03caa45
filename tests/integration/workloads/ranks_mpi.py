#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that the launchers of OpenMPI and of MPICH start: their results, what they use while they wait; no module for MPI, programs for one
process, ranks that are not told the same; ranks that are killed or stopped, with OpenMPI's recovery and without, and ^C."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, FSBENCH, case, ended_well, failed, run, scratch, without_stands  # noqa: E402
from ranks import Running, cpu_while_waiting, descendants, gone  # noqa: E402

HOST = os.uname().nodename
LAUNCHER = ["mpirun", "--oversubscribe", "-np", "4"]
MPICH = ["mpiexec.mpich", "-n", "4"]
FSREPLAY = os.path.join(BUILD, "replay/fsreplay")
# Programs of a build tree find their modules there.
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "LD_LIBRARY_PATH": ""}
WITHOUT_MODULE = "./apart/fsbench"  # a copy that stands in no build tree
MISSING = "the module for that MPI is missing: apt install fsreplay-mpi, or configure the build again with"


def ours(text):
    """Without the launcher's own lines."""
    return [line for line in text.splitlines() if line.startswith("fsbench")]


def results():
    done = run(*LAUNCHER, FSBENCH, "nfstest", "fd", "c1", "m64", "M256", "K4", "--json", env=ENV)
    result = json.loads(done.stdout or '{"stages": [], "hosts": [], "ranks": 0}')
    fine = done.returncode == 0 and (result["ranks"], result["hosts"], len(result["stages"])) == (4, [HOST] * 4, 4)
    case("four ranks, one result", fine and not done.stderr, done)
    case("all bytes of all ranks", all(sum(r["bytes"] for r in s["ranks"]) == s["total_bytes"] == 16 * s["file_bytes"] for s in result["stages"]), result)
    case("nothing is left", not os.listdir("d"), os.listdir("d"))
    words = ["vdbench", "-o", "out", "--json", "-", "fsd=f,anchor=d,files=40,size=8k", "fwd=w,fsd=f,operation=read,threads=4", "rd=r,fwd=w,fwdrate=100,format=yes,"
             "elapsed=2,interval=1"]
    done = run(*LAUNCHER, FSBENCH, *words, env=ENV)
    runs = json.loads(done.stdout or '{"runs": []}')["runs"]
    dealt = [[rank["operations"] for rank in one["ranks"]] for one in runs]
    case("vdbench: files and starts are dealt to the ranks", ended_well(done) and not ours(without_stands(done.stderr)) and dealt[:1] == [[10] * 4]
         and len(dealt[1]) == 4 and all(48 <= n <= 50 for n in dealt[1]), (done.returncode, dealt, done.stderr))
    done = run(*LAUNCHER, FSBENCH, "vdbench", "-o", "out", "-", "fsd=f,anchor=d,files=40,size=8k", "fwd=w,fsd=f", "rd=r,fwd=w,format=clean", env=ENV)
    case("vdbench: nothing is left", done.returncode == 0 and os.listdir("d") in ([], ["vdb_control.file"]), (done, os.listdir("d")))
    done = run("mpirun", "-np", "1", WITHOUT_MODULE, "nfstest", "fd", env=ENV)
    case("a launcher's only rank needs no module", done.returncode == 0 and "Best" in done.stdout, done)


def refused():
    script = f'[ $OMPI_COMM_WORLD_RANK != 2 ] || cd /; exec {FSBENCH} nfstest fd'
    parts = ["-np", "2", FSBENCH, "nfstest", "fd", ":", "-np", "1", FSBENCH, "nfstest", "fd", "m2"]
    for name, command, env, line in (
            ("no module", [*LAUNCHER, WITHOUT_MODULE, "nfstest", "fd"], ENV,
             f"fsbench nfstest: started as 4 ranks by a launcher of openmpi, but {MISSING} libopenmpi-dev installed"),
            ("a program for one process", [*LAUNCHER, FSBENCH, "compare", "a", "b", "--", "postmark"], ENV,
             "fsbench compare: started as 4 ranks by a launcher of openmpi, but this command runs as one process; start the command without the launcher"),
            ("--ranks as well", [*LAUNCHER, FSBENCH, "nfstest", "--ranks", "2"], ENV,
             "fsbench nfstest: --ranks 2: a launcher has started 4 ranks already; leave --ranks out"),
            ("a directory that one rank lacks", [*LAUNCHER, "sh", "-c", script], ENV, f"fsbench nfstest: rank 2 ({HOST}): d: No such file or directory"),
            ("a rank that is told otherwise", ["mpirun", "--oversubscribe", *parts], ENV,
             f"fsbench nfstest: rank 2 ({HOST}) has version 0.1.0, words fd m2, but rank 0 ({HOST}) has version 0.1.0, words fd;"),
            ("bad words", [*LAUNCHER, FSBENCH, "nfstest", "x5"], ENV, "fsbench nfstest: 'x5': expected")):
        done = run(*command, env=env)
        lines = ours(done.stderr)
        case(f"{name}: status 2 and a line", done.returncode == 2 and len(lines) == 1 and lines[0].startswith(line) and not done.stdout, done)


def lost():
    recovery = [*LAUNCHER, "--enable-recovery", FSBENCH, "nfstest", "--patience", "2s"]
    for name, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
        run_ = Running(*recovery, env=ENV)
        os.kill(run_.others[2], number)
        _, out, err = run_.end()  # with recovery, the launcher's status is always 0
        case(f"a rank that is {name} is named", len(ours(err)) == 1
             and re.match(rf"fsbench nfstest: rank 2 \({HOST}\) sent no heartbeat for 2\S* s$", ours(err)[0]), err)
        case(f"a rank that is {name}: what was measured is printed", out.count("--- Best") == 2, out[-300:])
        case(f"a rank that is {name}: neither files nor processes are left", gone(run_.others) and not os.listdir("d"), os.listdir("d"))
    run_ = Running(*LAUNCHER, FSBENCH, "nfstest", env=ENV)
    os.kill(run_.others[1], signal.SIGKILL)
    status, _, _ = run_.end()
    case("without recovery the launcher ends all", status != 0 and gone(run_.others), status)
    for left in os.listdir("d"):
        os.unlink(f"d/{left}")


def longest_sleep(pid):
    """Nanoseconds, of its main thread within a second and a half."""
    seen = subprocess.run(["timeout", "--signal=INT", "1.5", "strace", "-e", "trace=nanosleep,clock_nanosleep", "-p", str(pid)], stderr=subprocess.PIPE,
                          text=True, check=False).stderr
    return max([int(length) for length in re.findall(r"tv_sec=0, tv_nsec=(\d+)", seen)], default=0)


def waiting_among_many():
    """Beside ranks of which each has a processor, one that believes to be among forty on each processor."""
    many = 40 * os.sysconf("SC_NPROCESSORS_ONLN")
    for launcher, rank, local in (LAUNCHER, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"), (MPICH, "PMI_RANK", "MPI_LOCALNRANKS"):
        script = f'export {local}=1; [ ${rank} != 2 ] || {local}={many}; exec {FSBENCH} nfstest "$@"'
        run_ = Running(*launcher, "sh", "-c", script, "sh", env=ENV)
        ranks = descendants(run_.run.pid, "fsbench")
        os.kill(ranks[3], signal.SIGSTOP)
        sleeps = [longest_sleep(pid) for pid in ranks[1:3]]
        os.kill(ranks[3], signal.SIGCONT)
        case(f"{launcher[0]}: a rank that waits sleeps for 0.5 ms, and for 20 ms where many share processors", sleeps == [500_000, 20_000_000], sleeps)
        run_.run.send_signal(signal.SIGINT)
        run_.end()
        case(f"{launcher[0]}: no process is left of these", gone(ranks), ranks)


def waiting():
    run_ = Running(*LAUNCHER, FSBENCH, "nfstest", env=ENV)
    os.kill(run_.others[3], signal.SIGSTOP)
    used = cpu_while_waiting(run_.others[:3])
    os.kill(run_.others[3], signal.SIGCONT)
    case("ranks that wait leave the processor to others", used < 0.15, used)
    run_.run.send_signal(signal.SIGINT)
    status, out, err = run_.end()
    case("^C: a line, what was measured", status != 0 and ours(err) == ["fsbench nfstest: interrupted"] and out.count("--- Best") == 2, (status, err))
    case("^C: neither files nor processes are left", gone(run_.others) and not os.listdir("d"), os.listdir("d"))


def programs():
    """Copies of programs, and a mix that is dealt."""
    with open("p.pm", "w", encoding="ascii") as file:
        file.write("set number 50\nset transactions 200\nset location d\nrun\nquit\n")
    for launcher in LAUNCHER, MPICH:
        kind = launcher[0]
        os.mkdir("fresh." + kind)
        for name, words, row in (("postmark", ["p.pm"], "transactions"),
                                 ("bonnie", ["-d", "d", "-s", "2", "-r", "0", "-n", "1", "-f", "-q", "-u", "0", "-m", "x"], "put_block"),
                                 ("nhfsstone", ["-l", "4000", "-c", "2000", "-p", "8", "fresh." + kind], "calls")):
            done = run(*launcher, FSBENCH, name, "--json", *words, env=ENV)
            result = json.loads(done.stdout or '{"rows": [], "ranks": []}')
            case(f"{name} by {kind}: a row of each rank, and the sums", ended_well(done) and not ours(without_stands(done.stderr))
                 and [(rank["rank"], rank["host"]) for rank in result["ranks"]] == [(n, HOST) for n in range(4)]
                 and row in [r["name"] for r in result["rows"]], done)
        case(f"copies by {kind} leave nothing", not os.listdir("d"), os.listdir("d"))


def with_mpich():
    done = run(*MPICH, FSREPLAY, "mix:sfs97-v3", "memory:", "-q", "--streams", "7", "--calls", "4003", "--json", env=ENV)
    result = json.loads(done.stdout or '{"ranks": []}')
    case("MPICH: a mix", ended_well(done) and [rank["issued"] for rank in result["ranks"]] == [1144, 1144, 1143, 572], done)
    done = run(*MPICH, FSBENCH, "nfstest", "fd", "c1", "m64", "M256", "K4", "--json", env=ENV)
    result = json.loads(done.stdout or '{"stages": [], "hosts": []}')
    case("MPICH: all bytes of all ranks", done.returncode == 0 and result["hosts"] == [HOST] * 4 and len(result["stages"]) == 4
         and all(sum(r["bytes"] for r in s["ranks"]) == s["total_bytes"] for s in result["stages"]), done)
    done = run(*MPICH, WITHOUT_MODULE, "nfstest", "fd", env=ENV)
    why = f"started as 4 ranks by a launcher of mpich, but {MISSING} libmpich-dev installed"
    case("MPICH, no module: status 2 and why", done.returncode == 2 and ours(done.stderr)[:1] == ["fsbench nfstest: " + why], done)
    run_ = Running(*MPICH, FSBENCH, "nfstest", env=ENV)
    ranks = descendants(run_.run.pid, "fsbench")
    os.kill(ranks[2], signal.SIGSTOP)
    used = cpu_while_waiting(ranks[:2])
    os.kill(ranks[2], signal.SIGCONT)
    case("MPICH: ranks that wait leave the processor to others", len(ranks) == 4 and used < 0.15, used)
    os.kill(ranks[1], signal.SIGKILL)
    status, _, _ = run_.end()
    case("MPICH: its launcher ends all when one is killed", status != 0 and gone(ranks), status)
    for left in os.listdir("d"):
        os.unlink(f"d/{left}")


def main():
    with scratch(in_memory=True) as place:
        os.mkdir("d")
        os.mkdir("tmp")
        ENV["TMPDIR"] = os.path.join(place, "tmp")
        os.mkdir("apart")
        shutil.copy(FSBENCH, WITHOUT_MODULE)
        results()
        programs()
        with_mpich()
        refused()
        lost()
        waiting()
        waiting_among_many()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
