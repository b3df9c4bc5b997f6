"""Mistakes in MATCH_RECOGNIZE are answered with their place, in words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.query import QueryError, make_query, query_kind
from slackwater.query.recognise import RecogniseQuery

SCHEMA = pa.schema({"time": pa.timestamp("us", "UTC"), "symbol": pa.string(),
                    "price": pa.float64(), "volume": pa.int64()})
# the clauses, what is said, and the text that the caret stands under
MISTAKES = {
    "no pattern": ("ORDER BY time DEFINE A AS price > 1", "needs a PATTERN", "DEFINE"),
    "partitioned by an expression": ("PARTITION BY lower(symbol) ORDER BY time PATTERN (A)",
                                     "take columns, not expressions", "(symbol)"),
    "a word that means nothing": ("ORDER BY time MEASURES 1 AS x SEEK PATTERN (A)",
                                  "ONE ROW or ALL ROWS PER MATCH or AFTER MATCH SKIP", "SEEK"),
    "a subquery": ("ORDER BY time MEASURES (SELECT 1) AS x PATTERN (A)",
                   "no queries inside of queries", "SELECT 1"),
    "no order": ("PATTERN (A)", "ORDER BY is missing", "A"),
    "time backwards": ("ORDER BY time DESC PATTERN (A)", "time goes forward", "time DESC"),
    "no such column": ("ORDER BY time PATTERN (A) DEFINE A AS A.prise > 1", "did you mean 'price'",
                       "A.prise"),
    "no such variable": ("ORDER BY time PATTERN (A B) DEFINE B AS C.price > 1",
                         "no variable 'C'", "C.price"),
    "an unknown variable is defined": ("ORDER BY time PATTERN (A) DEFINE B AS price > 1",
                                       "no variable 'B'", "B AS price > 1"),
    "defined twice": ("ORDER BY time PATTERN (A) DEFINE A AS price > 1, A AS price < 2",
                      "defined twice", "A AS price < 2"),
    "a measure without a name": ("ORDER BY time MEASURES A.price PATTERN (A)",
                                 "every measure needs a name", "PATTERN"),
    "a value for a condition": ("ORDER BY time PATTERN (A) DEFINE A AS A.price + 1",
                                "needs a condition", "A.price + 1"),
    "FINAL in DEFINE": ("ORDER BY time PATTERN (A B) DEFINE B AS B.price > FINAL LAST(A.price)",
                        "FINAL has no meaning in DEFINE", "FINAL LAST(A.price)"),
    "FINAL of a value": ("ORDER BY time MEASURES FINAL (A.price) AS x PATTERN (A)",
                         "FINAL stands before FIRST, LAST", "FINAL (A.price)"),
    "RUNNING of two values": ("ORDER BY time MEASURES RUNNING(A.price, 1) AS x PATTERN (A)",
                              "RUNNING stands before FIRST, LAST", "RUNNING(A.price, 1)"),
    "FINAL of nothing, inside": ("ORDER BY time MEASURES PREV(FINAL()) AS x PATTERN (A)",
                                 "FINAL stands before FIRST, LAST", "FINAL()"),
    "ordered twice by a column": ("ORDER BY time, price, price PATTERN (A)",
                                  "'price' is there twice", "price"),
    "an offset that is computed": ("ORDER BY time PATTERN (A) DEFINE A AS A.price > "
                                   "PREV(A.price, 1 + 1)", "an offset is a whole number", "1 + 1"),
    "navigation inside out": ("ORDER BY time MEASURES LAST(PREV(A.price)) AS x PATTERN (A)",
                              "PREV cannot stand inside LAST", "PREV(A.price)"),
    "two variables in one aggregate": ("ORDER BY time MEASURES SUM(A.price * B.price) AS x "
                                       "PATTERN (A B)", "of the same variable", "B.price"),
    "a quantifier that cannot be": ("ORDER BY time PATTERN (A{3,1})", "can never be", "A{3,1}"),
    "skip to nobody": ("ORDER BY time AFTER MATCH SKIP TO LAST X PATTERN (A)", "no variable 'X'",
                       "AFTER MATCH SKIP TO LAST X"),
    "left out and unmatched": ("ORDER BY time MEASURES price AS x ALL ROWS PER MATCH WITH "
                               "UNMATCHED ROWS PATTERN (A {- B -})", "left out by {- -}",
                               "ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
    "texts of several rows": ("ORDER BY time PATTERN (A B) DEFINE B AS "
                              "concat(A.symbol, B.symbol) = 'x'",
                              "DEFINE cannot compute CONCAT from several rows",
                              "concat(A.symbol, B.symbol)"),
    "an aggregate that is not there": ("ORDER BY time MEASURES RUNNING array_agg(price) AS x "
                                       "PATTERN (A)", "ARRAY_AGG is no aggregate of a match",
                                       "array_agg(price)"),
    "the number of the match, added up": ("ORDER BY time MEASURES SUM(MATCH_NUMBER()) AS x "
                                          "PATTERN (A)",
                                          "MATCH_NUMBER cannot stand inside an aggregate",
                                          "MATCH_NUMBER()"),
    "a sum of texts": ("ORDER BY time MEASURES SUM(A.symbol) AS x PATTERN (A)",
                       "SUM cannot be taken of texts", "SUM(A.symbol)"),
    "a subset named as a variable": ("ORDER BY time PATTERN (A B) SUBSET A = (B)",
                                     "the name of something else", "A = (B)"),
    "an interval without a unit": ("ORDER BY time PATTERN (A) WITHIN INTERVAL '1' PARSEC",
                                   "this interval cannot be read", "INTERVAL '1' PARSEC"),
    "nothing to show": ("ORDER BY time PATTERN (A)", "the result would have no columns", "SELECT"),
    "a column twice": ("PARTITION BY symbol ORDER BY time MEASURES 1 AS symbol PATTERN (A)",
                       "two columns 'symbol'", "1 AS symbol"),
}


def query(inner: str) -> str:
    return f"SELECT * FROM s MATCH_RECOGNIZE ({inner})"


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name):
    inner, said, place = MISTAKES[name]
    text = query(inner)
    with pytest.raises(QueryError) as error:
        RecogniseQuery(text, SCHEMA)
    assert said in str(error.value)
    assert error.value.column == text.rindex(place) + 1 or text[error.value.column - 1:].startswith(
        place)


def test_the_text_decides_what_a_query_is():
    text = query("ORDER BY time MEASURES 1 AS x PATTERN (A)")
    assert query_kind(text) == "recognise"
    assert isinstance(make_query(text, SCHEMA, Roles("time")), RecogniseQuery)
    commented = f"-- FROM a, b\n{text};"
    assert isinstance(make_query(commented, SCHEMA, Roles("time")), RecogniseQuery)


def test_rows_are_not_filtered_in_front():
    text = ("SELECT * FROM s WHERE price > 1 MATCH_RECOGNIZE (ORDER BY time MEASURES 1 AS x "
            "PATTERN (A))")
    with pytest.raises(QueryError, match="right behind the name of the stream"):
        make_query(text, SCHEMA, Roles("time"))
    with pytest.raises(QueryError, match="right behind the name of the stream"):
        RecogniseQuery(text, SCHEMA)


def test_another_time_than_that_of_order_by():
    text = query("ORDER BY time MEASURES 1 AS x PATTERN (A)")
    with pytest.raises(QueryError, match="ORDER BY begins with another column"):
        RecogniseQuery(text, SCHEMA, Roles("volume", unit="s"))


def test_a_key_that_is_no_partition():
    text = query("ORDER BY time MEASURES 1 AS x PATTERN (A)")
    with pytest.raises(ConfigError, match="not partitioned by it"):
        RecogniseQuery(text, SCHEMA, Roles("time", key=("symbol",)))


def test_a_search_without_end_gives_its_row_up_and_the_stream_goes_on():
    rows = pa.record_batch({"time": list(range(30)), "price": [1.0] * 30})
    text = query("ORDER BY time MEASURES COUNT(*) AS n PATTERN ((A+)+ B) "
                 "DEFINE A AS SUM(A.price) > 0, B AS SUM(A.price) < 0")
    kernel = RecogniseQuery(text, rows.schema, Roles("time", unit="s"), slack="1s",
                            max_steps=1000)
    logic = kernel.start()
    outs = [logic.push(rows), logic.finish()]
    given_up = [r for out in outs for r in out.quarantined.to_pylist()]
    assert given_up
    assert "more than 1,000 steps" in given_up[0]["_reason"]
    assert outs[-1].notes["held"] == 0
