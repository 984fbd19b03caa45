#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments and documents read at once: no sentence that is too long, or begins without its noun. What was there before this check is
accepted by file, in prose_accepted.txt, and may only become less.

prose_check.py                  the check: a file with more findings than accepted, or with fewer, fails
prose_check.py --list [FILE]... the findings
prose_check.py --accept         lowers what is accepted to what is found"""
import collections
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from lower_fs import Cases  # noqa: E402

ROOT = os.path.normpath(f"{HERE}/../../..")
ACCEPTED = f"{HERE}/prose_accepted.txt"
PLACES = ("shim", "replay", "capture-formats", "tools", "docs", "README.md", "CHANGELOG.md")
MOST_WORDS = {"comment": 25, "document": 30}
MOST_WITH_SEMICOLONS = {"comment": 40, "document": 45}

# "Of a rank ...", "What nobody ...", "Those that ...": the noun is missing. A noun may follow, as in "Those files", and a value may be
# explained, as in "None: ...".
HEADLESS = re.compile(r"(Of|What|Whatever|Whose|Who|Whoever|Those|That|These|Such|Neither|None|Nobody|Nothing|All that|One that)\b")
HEADED = re.compile(r"(None|Nothing|Nobody|Neither)\s*[:;,.]|Of course\b|What to \w+|What .*\?$|"
                    r"(Those|These|That|Such)\s+(?!(that|of|which|who|whose|is|are|was|were|in|with|at|on|to|from|for|as|and|has|have|can|"
                    r"may|must)\b)[a-z]+")
NEEDS_THE_ONE_BEFORE = re.compile(r"(So (is|are|does|do|it|has)|Nor|Else|As that|Likewise|That too|Also so)\b")
NEEDS_THE_CODE = re.compile(r"(whose|whoever|those|what (is|was|has|had|it|they)|that (is|are|was|were|has|have|can|may|must|it|they)|"
                            r"of (it|them|these|those|whom|ours|theirs)|in (it|them))\b")
NEGATION = r"(?:not|no|never|nobody|nothing|none|nor|without|unless|cannot|[a-z]+n't)"
TWO_NEGATIONS = re.compile(rf"\b{NEGATION}\b(?:\s+[\w'`/()-]+){{0,4}}?\s+\b(?:{NEGATION}|except)\b", re.I)
ONE_NEGATION = re.compile(r"\b(no|not) (longer|more|matter|only)\b|whether or not|\b(or|and|but|nor) (not|no|never|none|nothing|without)\b",
                          re.I)


def comments(lines):
    """(line, text, whether code precedes it) of each paragraph of comments that begin with //."""
    paragraph, first, raw = [], 0, False
    for number, line in enumerate([*lines, ""], 1):
        if raw or 'R"' in line:
            raw = not re.search(r'\)[-a-z]*"', line.rsplit('R"', 1)[-1])
            continue
        bare = re.sub(r'"(?:\\.|[^"\\])*"', lambda m: "_" * len(m.group()), line)
        at = bare.find("//")
        text = line[at + 2:].strip() if at >= 0 else ""
        alone = at >= 0 and not bare[:at].strip()
        # Indented lines are tables or code.
        if alone and text and not text.startswith(("SPDX", "NOLINT", "clang-format")) and not line[at + 2:].startswith("   "):
            first = first or number
            paragraph.append(text)
            continue
        if paragraph:
            yield first, " ".join(paragraph), False
        paragraph, first = [], 0
        if text and not alone and not text.startswith(("NOLINT", "namespace")):
            yield number, text, True


def paragraphs(lines):
    """(line, text, False) of each paragraph of a document; no tables, no examples."""
    paragraph, first, fenced = [], 0, False
    for number, line in enumerate([*lines, ""], 1):
        text = line.strip()
        fenced ^= text.startswith("```")
        item = re.match(r"(- |\* |\d+\. )", text)
        ends = (fenced or not text or text.startswith(("|", ":-", ":<", "#", "```")) or line.startswith("    ") or
                re.match(r"\tfs\w+ ", line) or text.endswith("++"))
        if (ends or item) and paragraph:
            yield first, " ".join(paragraph), False
            paragraph, first = [], 0
        if not ends:
            first = first or number
            paragraph.append(text[item.end():] if item else text)


def sentences(text):
    return re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`*_\"(<0-9])", text)


def words(sentence):
    plain = re.sub(r"\([^()]*\)", " ", re.sub(r"`[^`]*`", "x", sentence))  # an aside is not counted
    return len(re.findall(r"[A-Za-z0-9_'/.:+-]*[A-Za-z0-9_]", plain))


def problem(kind, sentence, first, after_code):
    """What a reader may stumble over; None: nothing."""
    if len(set(sentence) & set("{};=")) > 1 or words(sentence) < 2:
        return None  # code, or a label
    if max(words(part) for part in sentence.split("; ")) > MOST_WORDS[kind] or words(sentence) > MOST_WITH_SEMICOLONS[kind]:
        return "too long"
    if kind == "document":
        return None
    if HEADLESS.match(sentence) and not HEADED.match(sentence):
        return "begins without its noun"
    if NEEDS_THE_ONE_BEFORE.match(sentence):
        return "needs the sentence before it"
    if after_code and first and NEEDS_THE_CODE.match(sentence):
        return "begins without its noun"
    for clause in re.split(r"[,;:()]|\s(?:that|which|who|when|where|because|if|while|until|and|but|or)\s", re.sub(r"`[^`]*`", "x", sentence)):
        if TWO_NEGATIONS.search(clause) and not ONE_NEGATION.search(clause):
            return "two negations"
    return None


def files():
    for place in PLACES:
        path = f"{ROOT}/{place}"
        if os.path.isfile(path):
            yield place
        for top, _, names in os.walk(path):
            for name in names:
                if name.endswith((".hpp", ".cpp", ".h", ".c", ".md", ".scd")):
                    yield os.path.relpath(f"{top}/{name}", ROOT)


def findings(name):
    with open(f"{ROOT}/{name}", encoding="utf-8") as f:
        lines = f.read().splitlines()
    document = name.endswith((".md", ".scd"))
    for line, text, after_code in (paragraphs if document else comments)(lines):
        for i, sentence in enumerate(sentences(text)):
            if what := problem("document" if document else "comment", sentence, i == 0, after_code):
                yield f"{name}:{line}: {what}: {sentence}"


def accepted():
    with open(ACCEPTED, encoding="utf-8") as f:
        return {name: int(count) for count, name in (line.split() for line in f)}


def main():
    if sys.argv[1:2] == ["--list"]:
        for name in sys.argv[2:] or sorted(files()):
            print(*findings(name), sep="\n")
        return 0
    found = collections.Counter({name: len(list(findings(name))) for name in files()})
    before = accepted()
    if sys.argv[1:] == ["--accept"]:
        with open(ACCEPTED, "w", encoding="utf-8") as f:
            f.writelines(f"{min(found[name], count)} {name}\n" for name, count in sorted(before.items()) if min(found[name], count))
        return 0
    cases = Cases()
    more = [name for name in sorted(found) if found[name] > before.get(name, 0)]
    cases.case("no file has sentences that are hard to read, beyond those accepted", not more,
               "\n".join(line for name in more for line in [f"{name}: {found[name]} found, {before.get(name, 0)} accepted:", *findings(name)]))
    fewer = [name for name, count in sorted(before.items()) if found[name] < count]
    cases.case("what is accepted is still there (else: prose_check.py --accept)", not fewer, fewer)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
