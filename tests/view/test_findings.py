"""`--report` of profile, tune, evaluate and query: one file, and text stays text."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from runs_for_view import HOSTILE
from slackwater.view.findings import Sheet, findings_page

SLACKWATER = [sys.executable, "-c", "from slackwater.cli import main; main()"]
COMMANDS = {
    "profile": ("profile", "FILE"),
    "tune": ("tune", "FILE", "--loss", "5%"),
    "evaluate": ("evaluate", "FILE", "--policy", "sba(buffer=1s),tide(loss=5%)"),
    "query": ("query", "SELECT source, MAX(v) AS peak FROM s [RANGE 10 s] GROUP BY source",
              "--data", "FILE"),
}


@pytest.fixture(scope="module")
def feed(tmp_path_factory):
    file = tmp_path_factory.mktemp("feed") / "feed.csv"
    name = '"' + HOSTILE.replace('"', '""') + '"'
    file.write_text("time,arrival,source,v\n" + "".join(
        f"{at},{at + (i * 7919) % 700},{name},{i}\n"
        for i, at in enumerate(range(1_700_000_000_000, 1_700_000_060_000, 100))))
    return file


@pytest.mark.parametrize("name", COMMANDS)
def test_a_report_of_what_a_command_found(name, feed, tmp_path):
    out = tmp_path / f"{name}.html"
    words = [str(feed) if word == "FILE" else word for word in COMMANDS[name]]
    plainly = subprocess.run([*SLACKWATER, *words], capture_output=True, text=True, timeout=200,
                             check=True)
    said = subprocess.run([*SLACKWATER, *words, "--report", str(out)], capture_output=True,
                          text=True, timeout=200, check=True)
    assert said.stdout == plainly.stdout, "the report is beside what is printed"
    text = out.read_text()
    assert "<script" not in text
    assert "<img src=x" not in text
    assert re.findall(r'src="(?!data:)', text) == []
    assert len(re.findall(r'<img alt="[^"]+" src="data:image/svg', text)) == (name != "query")
    assert text.count("<table>") >= 1
    if name == "query":
        assert "onerror=&quot;window.hacked=1&quot;&gt;" in text
        assert "SELECT source, MAX(v) AS peak" in text


def test_what_the_parts_hold_is_text():
    text = findings_page(HOSTILE, [HOSTILE, Sheet(HOSTILE, [HOSTILE, "n"],
                                                  [[HOSTILE, 1234], [None, 0.5]])])
    assert HOSTILE not in text
    assert '<td class="n">1,234</td>' in text
    assert '<td class="long">–</td>' in text
