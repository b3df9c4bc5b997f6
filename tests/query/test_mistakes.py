from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from slackwater.core.events import Roles
from slackwater.query import QueryError, make_query, query_kind

SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("value", pa.float64()),
                    ("room", pa.string()), ("n", pa.int64()), ("ok", pa.bool_())])
MISTAKES = yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text())


@pytest.mark.parametrize("entry", MISTAKES, ids=[m["query"] for m in MISTAKES])
def test_each_mistake_gets_its_message(entry):
    with pytest.raises(QueryError) as found:
        make_query(entry["query"], SCHEMA, Roles("time"))
    assert str(found.value) == entry["message"]


def test_there_are_enough_of_them():
    assert len({m["query"] for m in MISTAKES}) >= 40
    assert len({m["message"].split("\n")[0] for m in MISTAKES}) >= 35


def test_the_caret_keeps_its_place_behind_tabs():
    with pytest.raises(QueryError) as found:
        make_query("SELECT\tvalue,\tfoo FROM s", SCHEMA, Roles("time"))
    lines = str(found.value).split("\n")
    assert lines[3].replace("\t", " ").index("^") == lines[2].replace("\t", " ").index("foo")


def test_a_query_error_travels():
    with pytest.raises(QueryError) as found:
        query_kind("SELCT")
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)


def test_absurd_nesting_is_an_error_and_no_crash():
    with pytest.raises(QueryError, match="nested too deeply"):
        make_query("SELECT " + "-(" * 3000 + "n" + ")" * 3000 + " FROM s", SCHEMA, Roles("time"))
