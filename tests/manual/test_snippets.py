"""Every block of the manual is run: Python, commands, pipelines, queries."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
import yaml

from blocks import PAGES, ROOT, blocks_of, needs_spark, run_command, run_python
from slackwater.core.errors import UnknownColumn
from slackwater.core.events import Roles
from slackwater.pipeline import parse
from slackwater.query import QueryError, make_query, query_kind
from slackwater.query import parse as parse_query
from slackwater.query.event.query import event_pattern
from world import make_world

TUTORIAL = ROOT / "docs" / "tutorial.md"  # run as a whole by test_new_user
COLUMNS = {"time": pa.timestamp("us", "UTC"), "arrival": pa.timestamp("us", "UTC"),
           "device": pa.string(), "site": pa.string(), "symbol": pa.string(), "type": pa.string(),
           "source": pa.string(), "machine": pa.string()}


def blocks(kind: str):
    found = [b for page in PAGES for b in blocks_of(page) if b.kind == kind]
    assert found, f"no {kind} blocks: are they where they are looked for?"
    return [pytest.param(b, id=b.where) for b in found if b.reason is None]


def test_a_block_that_is_not_run_says_why():
    for page in PAGES:
        for block in blocks_of(page):
            assert block.reason != "?", block.where


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


@pytest.mark.parametrize("page", [
    pytest.param(p, id=p.name) for p in PAGES
    if not needs_spark(p) and any(b.kind == "python" and b.title is None for b in blocks_of(p))])
def test_python(page, world, monkeypatch):
    monkeypatch.chdir(world)
    assert run_python(page, {"__name__": "manual"})


@pytest.mark.parametrize("block", blocks("console"))
def test_commands(block, world, monkeypatch, capsys):
    if block.page == TUTORIAL:
        pytest.skip("run as a whole by test_new_user")
    monkeypatch.chdir(world)
    for file in blocks_of(block.page):
        if file.kind == "yaml" and "steps:" in file.text:
            (world / (file.title or "pipeline.yaml")).write_text(file.text)
    for line, _ in block.commands():
        run_command(line, world)


@pytest.mark.parametrize("block", blocks("yaml"))
def test_pipelines(block, tmp_path):
    parts = yaml.safe_load(block.text)
    text = block.text
    (tmp_path / "data").mkdir()
    if "sinks" not in parts:
        last = list({**parts["sources"], **parts.get("steps", {})})[-1]
        text += f"sinks:\n  shown: {{from: {last}, kind: console}}\n"
    assert parse(text, tmp_path / "pipeline.yaml", {}).sinks


@pytest.mark.parametrize("block", blocks("sql"))
def test_queries(block):
    """It is planned, against whatever columns it names."""
    text = re.sub(r"^-- .*$", "", block.text, flags=re.MULTILINE)
    kind = query_kind(text)
    if kind == "event":
        assert event_pattern(text)
    elif kind == "correlate":
        assert parse_query(text)
    else:
        assert planned(text, dict(COLUMNS))


def planned(text: str, columns: dict[str, pa.DataType]):
    """The kernel; a column that is not among ours is taken for a number."""
    for _ in range(20):
        try:
            return make_query(text, pa.schema(columns.items()), Roles("time", "arrival"))
        except (QueryError, UnknownColumn) as error:
            name = re.search(r"no column '([^']+)'", str(error))
            if name is None or name[1] in columns:
                raise
            columns[name[1]] = pa.float64()
    raise AssertionError("twenty unknown columns")
