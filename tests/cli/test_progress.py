"""What takes long says what it is doing, on a terminal and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slackwater.cli import show
from slackwater.cli.run import counters
from slackwater.pipeline import parse
from slackwater.pipeline.metrics import Numbers

COMMANDS = {
    "generate": (["generate", "g-2", "--out", "g.csv"], "30,000 rows, writing g.csv"),
    "evaluate": (["evaluate", "g-2", "--policy", "sba,kslack"], "evaluate: g-2 kslack"),
    "tune": (["tune", "g-2", "--loss", "1%", "--sample", "400"], "/73"),
    "advise": (["advise", "g-2", "--delay", "1 second"], "advise"),
    "reorder": (["reorder", "g-2", "--out", "o.csv"], "reorder: writing"),
    "query": (["query", "SELECT COUNT(*) AS n FROM s [RANGE 9 s, SLIDE 9 s]", "--data", "g-2"],
              "query"),
    "reproduce": (["reproduce", "dratio-promise", "--quick", "--out", "r"], "[ 1/1]"),
}


ACCOUNTS = ("reorder", "query")  # they say what became of the rows, anywhere


def on_a_terminal(arguments: list[str], folder: Path) -> tuple[str, bytes]:
    """Standard error of the command, where that is a terminal, and its output, a file."""
    ours, theirs = pty.openpty()
    code = "from slackwater.cli import main; main()"
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], cwd=folder, stderr=theirs, stdout=output,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "240"})
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # Linux ends a terminal without a writer this way
        pass
    finally:
        os.close(ours)
    assert process.wait() == 0, said.decode()
    return said.decode(), (folder / "output").read_bytes()


@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_terminal_it_is_shown_and_else_not(name: str, tmp_path: Path) -> None:
    arguments, text = COMMANDS[name]
    said, output = on_a_terminal(arguments, tmp_path)
    assert text in said
    code = "from slackwater.cli import main; main()"
    piped = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path,
                           env={**os.environ, "COLUMNS": "240"},
                           capture_output=True, text=True, check=True)
    assert "\x1b" not in piped.stderr + piped.stdout
    assert "\x1b" not in output.decode()
    if name != "reproduce":  # which has a line for each experiment, with how long it took
        assert piped.stderr == "" or name in ACCOUNTS
        assert output.decode() == piped.stdout, "what is shown meanwhile goes into no pipe"


def test_the_counters_of_a_run() -> None:
    numbers = Numbers(parse("""
name: plant
sources:
  raw: {kind: kafka, servers: b, topic: t, columns: {time: timestamp, v: double}}
steps:
  clean: {reorder: raw}
  peaks: {query: "SELECT MAX(v) AS peak FROM clean [RANGE 3 s]"}
sinks:
  out: {from: peaks, kind: console}
""", Path("p.yaml"), {}))
    numbers.streams["clean"].ready, numbers.streams["clean"].late = 12_345, 6
    assert counters(numbers) == "clean 12,345, 6 late; peaks 0"


def test_lines_of_text_without_a_terminal(monkeypatch, capsys) -> None:
    monkeypatch.setattr(show, "_EVERY", 0.02)
    with show.progress("warm", 3, quiet=False, lines=True) as step:
        step("Tide")
        time.sleep(0.2)
    with show.working("demo", quiet=False, lines=True) as say:
        say("starting Spark")
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "warm: 0 of 3"
    assert "warm: done: 1 of 3, Tide (0 s)" in lines
    assert lines.count("demo: starting Spark") == 1
    assert "demo: starting Spark (0 s)" in lines
    with show.progress("warm", 3, quiet=True, lines=True) as step:
        step("Tide")
    with show.progress("tune", 3, quiet=False) as step:
        step("Tide")
    assert capsys.readouterr().err == ""
