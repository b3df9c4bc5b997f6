"""Keywords are words where the grammar asks for them, and names everywhere else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query import QueryError, compile, explain, parse, query_kind

SOFT = ["timestamp", "event", "group", "order", "range", "slide", "select", "from", "where", "by",
        "as", "and", "or", "in", "between", "like", "is", "having", "limit", "within", "return",
        "seq", "any", "session", "dratio", "cast", "count", "distinct", "when", "then", "else",
        "end", "match", "skip", "pattern", "partition", "measures", "define", "interval", "after",
        "explain", "confidence", "first", "last", "time", "type"]


def schema(name: str) -> pa.Schema:
    columns = {"t": pa.int64(), "kind": pa.string(), "x": pa.int64(), name: pa.int64()}
    return pa.schema(list(columns.items()))


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("text", [
    "SELECT {0}, MAX({0}) AS top FROM s [RANGE 3 s] WHERE {0} > 1 AND NOT {0} IN (5, {0} + 1)",
    "SELECT {0}, SUM(x) AS {0}_all FROM {0} [RANGE 3 s, SLIDE 1 s] WHERE s.x = {0} GROUP BY {0}",
    "SELECT x AS {0} FROM s WHERE {0} BETWEEN 1 AND {0} OR {0} IS NOT NULL",
    "EVENT SEQ({0} a, B+ b[]) WHERE [{0}] AND a.{0} > 3 WITHIN 3 s RETURN a.{0} AS {0}",
    "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY {0} ORDER BY t MEASURES A.{0} AS y "
    "PATTERN (A B) DEFINE B AS B.{0} > A.{0})",
])
def test_a_keyword_can_be_a_name(name, text):
    text = text.format(name).replace("s.x", f"{name}.x" if f"FROM {name}" in text.format(name)
                                     else "s.x")
    compile(text, schema(name), Roles("t", type="kind", unit="s"))


@pytest.mark.parametrize("name", sorted({*SOFT} - {"where", "within", "return", "after"}))
def test_a_keyword_can_be_a_variable_unless_it_begins_a_clause(name):
    compile(f"EVENT SEQ(A {name}, !(B b), C c) WHERE {name}.x < c.{name} WITHIN 3 s "
            f"RETURN {name}.x", schema(name), Roles("t", type="kind", unit="s"))


@pytest.mark.parametrize("name", SOFT)
def test_a_keyword_can_be_a_name_in_a_query_over_two_streams(name):
    sides = pa.schema([("time_min", pa.int64()), ("time_max", pa.int64()), (name, pa.int64())])
    compile(f"SELECT a.{name} FROM {name} a, B b WHERE |@a - @b| <= 5 s AND a.{name} = b.{name}",
            (sides, sides), Roles("time_max", time_min="time_min", time_max="time_max", unit="s"))


@pytest.mark.parametrize("text", ["SELECTx FROM s", "SELECT x FROMs", "SELECT x FROM s WHEREx > 1",
                                  "EVENTSEQ(A a) WITHIN 1 s", "SELECT x FROM s WHERE x INx (1)"])
def test_keywords_end_where_a_word_ends(text):
    with pytest.raises(QueryError):
        parse(text)


@pytest.mark.parametrize("text", [
    "-- first\nSELECT /* what */ x -- why\nFROM s;",
    "/* a\n * b */EVENT/**/SEQ(A a /* or */, B b) WITHIN 1 s -- no more\n;  \n",
    "SELECT\u00a0a.x FROM A a, B b WHERE |@a - @b| <= 1 s /* near */;",
    "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t /* asc */ PATTERN (A)) -- end\n;",
])
def test_comments_and_a_semicolon_are_taken(text):
    assert query_kind(text) in ("select", "event", "correlate", "recognise")


@pytest.mark.parametrize("name", ["température", "温度", "तापमान", "Größe", "тело", "e\u0301t",
                                  '"any thing ""at"" all"', "`5 %`", '"select"'])
def test_names_in_any_script_and_quoted(name):
    plain = name.strip("`") if name[0] == "`" else name.strip('"').replace('""', '"')
    kernel = compile(f"SELECT {name} FROM s WHERE {name} > 1", schema(plain), Roles("t", unit="s"))
    assert kernel.result_schema.names == [plain]


def test_a_text_that_only_quotes_a_language_is_none_of_it():
    assert query_kind("SELECT x FROM s WHERE y = 'MATCH_RECOGNIZE (' -- , @a") == "select"
    assert query_kind('SELECT "a, b" FROM s') == "select"


@pytest.mark.parametrize(("text", "begins"), [
    ("EXPLAIN SELECT MAX(x) FROM s [RANGE 3 s]", "SELECT over windows of s"),
    ("EXPLAIN SELECT a.x FROM A a, B b WHERE |@a - @b| <= 1 s", "SELECT over pairs of A a and B b"),
    ("EXPLAIN SELECT * FROM s MATCH_RECOGNIZE (ORDER BY t PATTERN (A))", "MATCH_RECOGNIZE over s"),
    ("EXPLAIN EVENT SEQ(A a, B b) WITHIN 1 s", "EVENT pattern, 2 components"),
])
def test_explain_tells_the_plan_of_every_language(text, begins):
    assert explain(text).split("\n")[0] == begins
    assert parse(text).explain


def test_explain_knows_the_options():
    text = "EVENT SEQ(A a, !(B b)) WITHIN 5 s"
    told = explain(text, slack="1 minute", select="strict", emit="eager")
    for words in ("waiting 1m", "strict:", "- if a late event undoes it"):
        assert words in told
    assert "waiting as Tide(loss=1%) says" in explain("SELECT x FROM s", policy="Tide(loss=1%)")
