# SPDX-License-Identifier: Apache-2.0
"""The study's page in Markdown. Each sentence about an outcome is made from the outcomes."""
import statistics
import urllib.parse

from targets import SERVER_NAMES

CLIENTS = {
    "own": ("This project's clients", """They have no page cache: each read and write is a request, one at a time but for the seeks. Files are committed
when a program syncs them, and not also when it closes them, as a kernel's NFS client does. The numbers say how protocol and server
answer, not what an application on a mount gets."""),
    "given": ("Targets that the user named", ""),
    "kernel": ("The kernel's mounts", """Linux's NFS and 9P clients, each with its defaults unless a name says otherwise. They run in a virtual machine,
whose processor is emulated by software. So the client's work weighs more than on a real machine, and that of the servers does not.""")}

# What the study of 2009 that this one follows reports, and the paper of 2005 that it tests.
EARLIER = """A study of 2009 (Linux 2.6.30, u9fs and the kernel's v9fs against the kernel's NFS, 50,000 transactions of PostMark, bonnie++ with files of
twice the memory) found about 200 creations, reads, appends and deletions a second on 9P and 10 on NFS, and distrusted the value of NFS. In
bonnie++, 9P wrote well and read slowly, the size of messages changed nothing, and small files could not be tested, as the server listed 118
of 16384. The paper of 2005 that it tests (Hensbergen, Minnich: Grave Robbers from Outer Space, USENIX) has bonnie++ about equal and
PostMark in favour of 9P."""
CLAIMS = [("2009", "buffered", "file created", "PostMark, files created: 20 times", "faster"), ("2009", "buffered", "file read", "files read: 20 times", "faster"),
          ("2009", "buffered", "file appended", "files appended: 20 times", "faster"), ("2009", "buffered", "file deleted", "files deleted: 20 times", "faster"),
          ("2005", "buffered", "transactions", "PostMark in favour of 9P", "faster"), ("2009", "bonnie", "put_block", "bonnie++ writes well", "not slower"),
          ("2009", "bonnie", "get_block", "bonnie++ reads slowly", "slower")]


def names_of(entry):
    return [target["name"] for target in entry["targets"]]


def word(against):
    if against["rounds"] == 0:
        return "-"
    return "not decided" if not against["decided"] else "faster" if against["ratio"] > 1 else "slower"


def ratio_text(against):
    if against["rounds"] == 0:
        return "-"
    bold = "**" if against["decided"] else ""
    interval = f"{against['low']:.2f} to {against['high']:.2f}" if against["high"] < 100 else "anything"
    return f"{bold}{against['ratio']:.2f}{bold} ({interval})"


def number(value, unit=""):
    return f"{value:,.3f}" if unit == "ms" or value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def circumstances(entry):
    text = f"{entry['date']}, Linux {entry['kernel']}, {entry['cpus']} CPUs, load {entry['load']:.1f}, {entry['seconds']:.0f} s"
    if entry["memory"]:
        text += f", {entry['memory']} MiB of memory"
    if "result" in entry:
        result, asked = entry["result"], entry["options"]["rounds"]
        early = "" if result["rounds"] == asked else f" of {asked}, as every rate is decided"
        text += f"; {result['rounds']} rounds{early}; {result['caches']}"
    if entry.get("medians_only"):  # of a page before this one
        text += "; the rounds' own values were not kept, and each verdict is sure with 95 % by itself"
    return text + "."


def given_lines(entries):
    """What is known of targets that the user named, and of the clients that reach them."""
    targets = {target["name"]: target for entry in entries for target in entry["targets"]}
    yield from (f"- {name}: {target.get('seen') or target['place']}" for name, target in targets.items())
    if any(target["place"].startswith("/") for target in targets.values()):
        yield """\nDirectories are reached through this machine's kernel, so rates of cached files are those of its memory as far as the mount's
options let it cache."""
    if any(target["protocol"].startswith(("nfs", "9p")) and not target["place"].startswith("/") for target in targets.values()):
        yield f"\nURLs are reached by this project's clients. {CLIENTS['own'][1]}"


def list_of(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def outcome(entry):
    """What the rates of each target are beside the first."""
    names, rates = names_of(entry), [row for row in entry["result"]["rows"] if not row["less_is_better"]]
    for place, name in enumerate(names[1:]):
        by_word = {kind: [row["name"] for row in rates if word(row["against"][place]) == kind] for kind in ("faster", "slower", "not decided")}
        parts = [f"{kind} in {list_of(rows) if len(rows) < len(rates) or len(rows) == 1 else 'every rate'}" if kind != "not decided" else f"not decided: {list_of(rows)}"
                 for kind, rows in by_word.items() if rows]
        yield f"- {name} against {names[0]}: {'; '.join(parts) or 'nothing measured on both'}."


def compare_table(entry):
    names = names_of(entry)
    yield f"| | unit | {' | '.join(names + [f'{n} : {names[0]}' for n in names[1:]])} |"
    yield "|---|---|" + "--:|" * len(names) + "---|" * (len(names) - 1)
    for row in entry["result"]["rows"]:
        rates = [[rate for rate in rates if rate > 0] for rates in row["rates"]]
        medians = [number(statistics.median(r), row["unit"]) if r else "-" for r in rates]
        yield f"| {row['name']} | {row['unit']} | {' | '.join(medians)} | {' | '.join(ratio_text(a) for a in row['against'])} |"
    yield ""
    yield from outcome(entry)
    yield ""
    yield circumstances(entry)


def requests_per_unit(entry, name):
    return sum(entry["relays"][name]["requests"].values()) / entry["units"]


def requests_table(entry):
    unit = entry["unit"]
    yield f"| | requests a {unit} | KiB sent | KiB received | of these |"
    yield "|---|--:|--:|--:|---|"
    totals = {}
    for name in names_of(entry):
        relay = entry["relays"][name]
        totals[name] = requests_per_unit(entry, name)
        kinds = sorted(relay["requests"].items(), key=lambda item: -item[1])
        shown = ", ".join(f"{kind} {count / entry['units']:.2f}" for kind, count in kinds if count >= 0.005 * entry["units"])
        sent, received = (relay["bytes"][way] / entry["units"] / 1024 for way in ("to the server", "to the client"))
        yield f"| {name} | {number(totals[name])} | {number(sent)} | {number(received)} | {shown} |"
    if totals:
        least, most = min(totals, key=totals.get), max(totals, key=totals.get)
        yield f"\nFewest: {least} with {number(totals[least])} a {unit}; most: {most} with {number(totals[most])}."
    yield f"\n{circumstances(entry)}"


def delay_table(entries):
    """Transactions a second by the round trip that was added, and how often a transaction waits for one."""
    names = [name for name in names_of(entries[0]) if all(name in names_of(entry) for entry in entries)]
    if not names:
        yield "No target could be measured with every delay."
        return
    yield "| round trip added, ms | " + " | ".join(names) + " |"
    yield "|---|" + "--:|" * len(names)
    times = {name: [] for name in names}
    for entry in entries:
        row = next(row for row in entry["result"]["rows"] if row["name"] == "transactions")
        cells = []
        for name in names:
            place = names_of(entry).index(name)
            rates = [rate for rate in row["rates"][place] if rate > 0]
            if not rates:
                cells.append("-")
                continue
            rate = statistics.median(rates)
            times[name].append((entry["relays"][name]["late_ms"] + entry["delay"], 1000 / rate))
            cells.append(number(rate) + (f", {ratio_text(row['against'][place - 1])}" if place else ""))
        yield f"| {entry['delay']:g} | {' | '.join(cells)} |"
    yield f"\nTransactions a second, and the ratio to {names[0]}. The relay that adds the time holds messages longer than it was asked to, here by"
    late = [entry["relays"][name]["late_ms"] for entry in entries for name in names]
    yield f"{min(late):.2f} to {max(late):.2f} ms a round trip."
    if len(entries) > 1:
        yield "\nRound trips that a transaction waits for, from the growth of its time:\n"
        for name in [name for name in names if len(times[name]) > 1 and times[name][-1][0] > times[name][0][0]]:
            (first, at_first), (last, at_last) = times[name][0], times[name][-1]
            yield f"- {name}: {(at_last - at_first) / (last - first):.1f}"
    for entry in entries:
        yield f"\n{entry['delay']:g} ms: {circumstances(entry)}"


def part_lines(entries):
    first = entries[0]
    yield f"\n### {first['title']}\n"
    if first.get("delay") is not None and "result" in first:
        yield from delay_table(entries)
    elif "result" in first:
        yield from compare_table(first)
    else:
        yield from requests_table(first)
    for entry in entries:
        if entry.get("drawn"):
            yield f"\nEvery row and round, drawn: [`{entry['drawn']}`]({urllib.parse.quote(entry['drawn'])})."
    complaints = [line for entry in entries for line in entry.get("result", {}).get("complaints", [])]
    left_out = [f"left out: {line}" for entry in entries for line in entry["left_out"]]
    if complaints or left_out:
        yield ""
    for line in dict.fromkeys(left_out + complaints):
        yield f"- {line}"


def is_tested(entry, row):
    """Whether the row is about the server: a file that fits the client's memory is read from there."""
    return row != "get_block" or not entry["memory"] or entry["options"]["size"] >= 2 * entry["memory"]


def agreement(entries):
    """What the results of one kind of client say to those of 2009 and 2005, by protocols: what the ratios are to, then a table."""
    by_part = {entry["part"]: entry for entry in entries}
    found = [(year, by_part[part], row, text, expected) for year, part, row, text, expected in CLAIMS
             if part in by_part and by_part[part]["targets"][0]["protocol"].startswith("nfs")]
    others = list(dict.fromkeys(t["name"] for _, entry, *_ in found for t in entry["targets"][1:] if t["protocol"].startswith("9p")))
    if not found or not others:
        return
    yield f"ratios to {list_of(list(dict.fromkeys(names_of(entry)[0] for _, entry, *_ in found)))}"
    yield "| | said in | " + " | ".join(others) + " |"
    yield "|---|---|" + "---|" * len(others)
    for year, entry, row, text, expected in found:
        measured = next((r for r in entry["result"]["rows"] if r["name"] == row), None)
        cells = []
        for name in others:
            against = measured["against"][names_of(entry).index(name) - 1] if measured and name in names_of(entry) else {"rounds": 0}
            here = word(against)
            if against["rounds"] == 0:
                cells.append("-")
            elif not is_tested(entry, row):
                cells.append(f"not tested: {entry['options']['size']} MiB in {entry['memory']} MiB of memory")
            else:
                fits = here == "faster" if expected == "not slower" else here == expected
                cells.append(f"{ratio_text(against)}" + (", not decided" if here == "not decided" else f", {here}: {'agrees' if fits else 'differs'}"))
        yield f"| {text} | {year} | {' | '.join(cells)} |"


def small_files(entries):
    """What became of small files, which could not be tested in 2009."""
    for entry in entries:
        if entry["part"] == "bonnie":
            complaints = entry["result"]["complaints"] + entry["left_out"]
            lost = [line for line in complaints if "Expected" in line or "list directory" in line]
            if lost:
                yield f"\nbonnie++'s small files: {len(lost)} run{'s' if len(lost) > 1 else ''} ended as in 2009 (see above)."
            elif entry["result"]["complaints"]:
                yield "\nbonnie++'s small files: not told, as runs failed (see above)."
            else:
                yield f"\nbonnie++'s small files: {list_of(names_of(entry))} list all of them."


def confounded(entries):
    """Which servers stand for which protocol."""
    servers, named = {}, False
    for entry in entries:
        for target in entry["targets"]:
            if target["server"] == "given":
                named = True
                continue
            kind = target["protocol"].replace("nfs3", "NFSv3").replace("nfs4", "NFSv4.1").replace("9p", "9P")
            servers.setdefault(kind, set()).add(SERVER_NAMES[target["server"]])
    yield "\n## What is confounded"
    if named:
        yield """
A target that the user named stands for its client, protocol, server, storage and way there together; the rates do not say which of them makes
a difference."""
    if not servers:
        return
    yield "\nThe protocols are served by different programs:\n"
    yield from (f"- {kind}: {list_of(sorted(names))}" for kind, names in servers.items())
    yield ""
    alone = [kind for kind, names in servers.items() if len(names) == 1]
    if alone:
        yield f"A rate of {list_of(alone)} is that of its only server here, too. Requests are the client's choice and the protocol's, hardly the server's."
    if not any(target["server"] == "u9fs" for entry in entries for target in entry["targets"]):
        yield """
u9fs, the 9P2000 server of the study of 2009, is not among them, because Debian has no package of it. It builds with `make` from
its repository (tried with commit d65923f of github.com/unofficial-mirror/u9fs), and `tools/study-9p-nfs --u9fs PROGRAM --part servers`
sets it beside diod.
"""
    yield """Client and servers share the processors, with whatever else makes the load that each table tells: the more of it, the less can be told from
rates. Counts of requests don't depend on it.

With two hosts, let one serve a directory by all protocols, such as `exportfs`, `diod -f -n -N -l 0.0.0.0:564 -e /export` and u9fs on port
565, and run `tools/study-9p-nfs --server HOST` on the other. Mounts of its kernel are compared by
`tools/study-9p-nfs --target NFSv3=/mnt/nfs --target 9P2000.L=/mnt/9p`."""


COUNTED = """Requests are counted by a relay between client and server; the
machine's load does not change them. """
COMPARED = """Ratios are means of the rounds' own, with the 95 % interval: of rates, above 1 is faster than the first target; of times
(ms), below 1. Bold are differences that are shown; all verdicts of a table are sure together with 95 % (Holm's method), unless
its last line says otherwise. The others may be chance. See fsbench(1)."""


def lines(entries, raw, missing=()):
    """`raw`: name of the file with the data. `missing`: why parts that were asked for are not on the page."""
    counted = COUNTED if any("units" in entry for entry in entries) else ""
    compared = COMPARED if any("result" in entry for entry in entries) else ""
    yield "# 9P and NFS, by PostMark and bonnie++"
    yield f"""
Made by `tools/study-9p-nfs`.{f' Raw data: [{raw}]({raw}).' if raw else ''} {counted}{compared}""".rstrip()
    if missing:
        yield "\nNot measured:\n"
        yield from (f"- {line}" for line in missing)
    for client, (heading, how) in CLIENTS.items():
        of_client = [entry for entry in entries if entry["client"] == client]
        if not of_client:
            continue
        yield f"\n## {heading}\n"
        yield from [how] if how else given_lines(of_client)
        for name in dict.fromkeys(entry["part"] for entry in of_client):
            yield from part_lines([entry for entry in of_client if entry["part"] == name])
    yield from confounded(entries)
    beside = {client: list(agreement([entry for entry in entries if entry["client"] == client])) for client in CLIENTS}
    if not any(beside.values()):
        return
    yield "\n## Beside earlier results\n"
    yield EARLIER
    for client, text in beside.items():
        if text:
            yield f"\n{CLIENTS[client][0]}, {text[0]}:\n"
            yield from text[1:]
            yield from small_files([entry for entry in entries if entry["client"] == client])
