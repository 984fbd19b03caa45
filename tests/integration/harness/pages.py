# SPDX-License-Identifier: Apache-2.0
"""Pages in a real browser: what it says of their texts, tables and drawings. Files are made in the current directory."""
import html
import json
import os
import re
import subprocess


def browser(page, *arguments):
    """The browser's output and what its console said."""
    done = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                           "--user-data-dir=" + os.path.abspath("profile"), "--enable-logging=stderr", "--proxy-server=127.0.0.1:9", *arguments,
                           "file://" + os.path.abspath(page)], capture_output=True, text=True, check=False, timeout=100)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


# Reports of the page: cells with a number that broke, tables that scroll, those of them without a sign, rows of text that are no blocks.
PROBE = r"""
document.querySelectorAll('details').forEach(d => d.open = true);
const broken = [];
for (const cell of document.querySelectorAll('td, th, dd, p'))
  for (let walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT); walk.nextNode();)
    for (const found of walk.currentNode.data.matchAll(/(?<!\S)\d[\d,.]*(\s([num]?s|min|h|[KMG]?i?B|%))?(?![^\s,;.:)])/g)) {
      const range = document.createRange();
      range.setStart(walk.currentNode, found.index);
      range.setEnd(walk.currentNode, found.index + found[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) broken.push(found[0]);
    }
const scrolls = [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1);
const unsigned = scrolls.filter(e => !getComputedStyle(e).backgroundImage.includes('gradient'));
const stacked = [...document.querySelectorAll('table.stack')];
const rows = stacked.filter(t => getComputedStyle(t.querySelector('td')).display.endsWith('block') && !scrolls.includes(t.parentElement));
const sizes = [...document.querySelectorAll('p, dt, dd, th, td, small, summary, li')].map(e => parseFloat(getComputedStyle(e).fontSize));
const drawn = [...document.querySelectorAll('svg text')].filter(e => e.getClientRects().length).map(e => parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b));
// Labels of drawings and scales that lie beyond them, or over each other, and scales that are not as wide as their drawings.
const box = e => e.getBoundingClientRect();
const labels = [];
const compare = (whole, texts) => texts.map(box).forEach((a, i, all) => {
  if (a.left < whole.left - 1 || a.right > whole.right + 1) labels.push('beyond: ' + texts[i].textContent);
  all.slice(0, i).forEach((b, k) => { if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3) labels.push(texts[i].textContent + ' over ' + texts[k].textContent); });
});
for (const drawing of document.querySelectorAll('svg[role=img], .scale'))
  if (drawing.getClientRects().length) compare(box(drawing), [...drawing.querySelectorAll('text, span')].filter(e => e.textContent && box(e).width));
for (const table of document.querySelectorAll('table.g'))
  if (table.querySelector('.viz') && table.querySelector('.scale') && table.getClientRects().length && Math.abs(box(table.querySelector('.viz')).width - box(table.querySelector('.scale')).width) > 1) labels.push('a scale beside its drawings');
const cut = [...document.querySelectorAll('dd, .verdict p')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent);
document.title = JSON.stringify({labels, smallest: Math.min(...sizes, ...drawn), cut, overflow: document.documentElement.scrollWidth > innerWidth, broken, scrolls: scrolls.length, unsigned: unsigned.length, stacked: stacked.length, blocks: rows.length});
"""


def probe(page, width, script):
    """What the page says after a script, in a frame of that width: a browser's own window is never narrower than 500 pixels."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open("probe.html", "w", encoding="utf-8") as file:
        inner = text.replace("default-src 'none';", "").replace("</body>", f"<script>{script.replace('document.title', 'parent.document.title')}</script></body>")
        file.write(f'<!DOCTYPE html><meta charset="utf-8"><iframe width="{width}" height="900" style="border:0" srcdoc="{html.escape(inner)}"></iframe>')
    out, _ = browser("probe.html", "--dump-dom", f"--window-size={width + 100},900")
    return html.unescape(re.search("<title>(.*?)</title>", out)[1])


def faults(page):
    """What is wrong with a page at the widths of a phone, a tablet and a desk. Empty: nothing."""
    wrong = {}
    for width in (390, 768, 1280):
        found = json.loads(probe(page, width, PROBE))
        bad = {name: found[name] for name in ("broken", "labels", "cut", "overflow", "unsigned") if found[name]}
        if found["smallest"] < 10:
            bad["smallest"] = found["smallest"]
        if bad:
            wrong[width] = bad
    return wrong
