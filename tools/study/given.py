# SPDX-License-Identifier: Apache-2.0
"""Targets that the user names instead of the servers here, and what can be seen of them: a URL, or a directory and its mount."""
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

from options import refuse
from runs import PROBE, failure, run, write
from targets import FSBENCH, Target, answers

URL = re.compile(r"[a-z0-9][a-z0-9+]*:")
CLIENT_OF = {"nfs": "nfs", "nfs4": "nfs", "9p": "9p", "9p+unix": "9p", "afp": "afp"}  # clients of this project, by the URL's scheme
MARKDOWN = set("|`*<>[]\\")  # would break a table
PROBE_TIME = 60  # s


def mount_of(directory):
    """Type, source and options of the mount that `directory` is on."""
    best, found = "", ("unknown", "", "")
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            before, _, after = line.partition(" - ")
            point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split()[4])
            inside = directory == point or directory.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):  # a later mount at the same place covers the earlier
                best, found = point, tuple(after.split()[:3])
    return found


def protocol_of_mount(kind, options):
    words = options.split(",")
    if kind in ("nfs", "nfs4"):
        return "nfs3" if "vers=3" in words else "nfs4"
    if kind != "9p":
        return kind
    named = [word.partition("=")[2].lower() for word in words if word.startswith("version=")]
    return (named or ["9p2000" if "noextend" in words else "9p2000.L"])[0].replace(".l", ".L")


def protocol_of_url(place):
    scheme, query = place.partition(":")[0], urllib.parse.parse_qs(urllib.parse.urlsplit(place).query)
    client = CLIENT_OF.get(scheme, scheme)
    if client == "nfs":
        version = (query.get("version") or query.get("vers") or ["4.1" if scheme == "nfs4" else "3"])[0]
        return "nfs3" if version.startswith("3") else "nfs4"
    return query.get("dialect", ["9p"])[0] if client == "9p" else scheme


def target_of(name, place):
    if URL.match(place):
        by = "by this project's client" if place.partition(":")[0] in CLIENT_OF else "by fsbench itself"
        return Target(name, protocol_of_url(place), "given", place=place, seen=f"`{place}`, {by}")
    if not os.path.isdir(place):
        refuse(f"--target {name}={place}: {'expected a directory or a URL' if os.path.exists(place) else 'there is no such directory'}")
    place = os.path.abspath(place)
    kind, source, options = mount_of(os.path.realpath(place))
    return Target(name, protocol_of_mount(kind, options), "given", place=place, seen=f"`{place}`, through this machine's kernel: {kind} of `{source}` ({options})")


def named(words):
    found = {}
    for word in words:
        name, equals, place = word.partition("=")
        if not equals or not name or not place:
            refuse(f"--target {word}: expected NAME=TARGET")
        if not word.isprintable() or set(name) & MARKDOWN:
            refuse(f"--target {word!r}: a name is made of printable characters, without {' '.join(sorted(MARKDOWN))}")
        if name in found:
            refuse(f"--target {word}: there is a target of the name {name} already")
        found[name] = target_of(name, place)
    if len(found) < 2:
        refuse(f"--target {words[0]}: a comparison needs at least two targets")
    return list(found.values())


def on_host(host, path):
    """The servers on HOST, and which do not answer."""
    address = f"[{host}]" if ":" in host else host
    places = {"NFSv3": (2049, f"nfs://{address}{path}?version=3"), "NFSv4.1": (2049, f"nfs://{address}{path}?version=4.1"),
              "9P2000.L": (564, f"9p://{address}:564/?dialect=9p2000.L&aname={path}"), "9P2000": (565, f"9p://{address}:565/?dialect=9p2000&aname={path}")}
    ports = {port: answers(port, host) for port in sorted({port for port, _ in places.values()})}
    if not any(ports.values()):
        refuse(f"--server {host}: no server answers on its ports {', '.join(map(str, ports))}")
    return ([target_of(name, place) for name, (port, place) in places.items() if ports[port]],
            [f"{name}: no server answers on port {port} of {host}" for name, (port, _) in places.items() if not ports[port]])


def unusable(target, probe):
    """Why a small run of PostMark fails on the target. Empty: it does not."""
    try:
        return failure(run([FSBENCH, "postmark", probe, "--location", target.place], PROBE_TIME))
    except subprocess.TimeoutExpired:
        return f"no answer for {PROBE_TIME} s"


def given(options):
    """The targets that the user names, each of which answered, and the lines of those left out. None: the user names none."""
    if not options.given and not options.server:
        return None, []
    targets, left_out = (named(options.given), []) if options.given else on_host(options.server, options.export)
    usable = []
    with tempfile.TemporaryDirectory(prefix="study-9p-nfs.") as scratch:
        write(f"{scratch}/probe", PROBE)
        for target in targets:
            why = unusable(target, f"{scratch}/probe")
            if why and options.given:
                refuse(f"--target {target.name}={target.place}: {why}")
            left_out += [f"{target.name}: {why}"] if why else []
            usable += [] if why else [target]
    if len(usable) < 2:
        refuse(f"--server {options.server}: a comparison needs at least two targets, of which {len(usable)} can be used: {'; '.join(left_out)}")
    for line in left_out:
        print(f"study-9p-nfs: left out: {line}", file=sys.stderr)
    return usable, left_out
