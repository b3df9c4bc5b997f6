"""Which streams a piece of Spark SQL reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

__all__ = ["is_stateless", "sql_streams", "with_quoted_streams"]

_TOKEN = re.compile(
    r"(?P<skip>--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|\s+)"
    r"|(?P<name>(?:`(?:[^`]|``)*`|[A-Za-z_]\w*)(?:\s*\.\s*(?:`(?:[^`]|``)*`|[A-Za-z_]\w*))*)"
    r"|(?P<sign>.)", re.DOTALL)
_AFTER_TABLES = {"where", "group", "order", "having", "limit", "union", "intersect", "except",
                 "on", "using", "select", "window", "lateral", "cluster", "distribute", "sort"}
_JOINING = {"join", "from"}


def _tokens(text: str) -> Iterator[tuple[str, str, int, int]]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup != "skip":
            yield str(found.lastgroup), found[0], found.start(), found.end()


def _tables(text: str) -> Iterator[tuple[str, int, int]]:
    """Names that stand where a table may stand, with their place."""
    tokens = list(_tokens(text))
    made = {t[1].lower() for t, following in pairwise(tokens)
            if t[0] == "name" and following[1].lower() == "as"
            and _opens(tokens, following)}
    selects = [False]  # for each open parenthesis, whether a SELECT has begun in it
    expected = [False]
    for at, (kind, token, start, end) in enumerate(tokens):
        word = token.lower()
        if token == "(":
            selects.append(False)
            expected.append(False)
        elif token == ")" and len(selects) > 1:
            selects.pop()
            expected.pop()
            expected[-1] = False
        elif word in ("select", "table"):
            selects[-1] = True
            expected[-1] = word == "table"
        elif word in _JOINING:
            # EXTRACT(hour FROM time) is a FROM without a SELECT
            expected[-1] = selects[-1]
        elif token == ",":
            # after a table, the next one; anywhere else this is not asked
            expected[-1] = expected[-1] or _in_tables(tokens, at, selects)
        elif kind == "name" and expected[-1] and word not in _AFTER_TABLES:
            expected[-1] = False
            call = at + 1 < len(tokens) and tokens[at + 1][1] == "("
            if not call and word not in made and word != "lateral":
                yield token, start, end


def _opens(tokens: list[tuple[str, str, int, int]], following: tuple[str, str, int, int]) -> bool:
    at = tokens.index(following)
    return at + 1 < len(tokens) and tokens[at + 1][1] == "("


def _in_tables(tokens: list[tuple[str, str, int, int]], at: int, selects: list[bool]) -> bool:
    """Whether a comma stands between tables: going back on its level, FROM comes first."""
    depth = 0
    for _, token, _, _ in reversed(tokens[:at]):
        word = token.lower()
        if token == ")":
            depth += 1
        elif token == "(":
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and word == "from":
            return selects[-1]
        elif depth == 0 and word in _AFTER_TABLES - {"on", "using"}:
            return False
    return False


def _plain(name: str) -> str:
    return re.sub(r"\s*\.\s*", ".", name).replace("`", "")


def sql_streams(text: str) -> list[str]:
    """The names of the streams, in the order of their first mention.

    Examples
    --------
    >>> sql_streams("WITH t AS (SELECT * FROM clean.late) SELECT extract(hour FROM t.time) "
    ...             "FROM t JOIN `rooms` USING (room), peaks p WHERE x IN (SELECT y FROM z)")
    ['clean.late', 'rooms', 'peaks', 'z']
    """
    return list(dict.fromkeys(_plain(name) for name, _, _ in _tables(text)))


def with_quoted_streams(text: str) -> str:
    """The text with each stream's name as one quoted word, as Spark's temporary views are called.

    Examples
    --------
    >>> with_quoted_streams("SELECT late.x FROM clean.late late")
    'SELECT late.x FROM `clean.late` late'
    """
    for _, start, end in reversed(list(_tables(text))):
        text = f"{text[:start]}`{_plain(text[start:end])}`{text[end:]}"
    return text


_ACROSS_ROWS = {"join", "group", "distinct", "order", "sort", "cluster", "distribute", "limit",
                "offset", "having", "intersect", "except", "minus", "over", "window", "union",
                "session_window", "pivot", "with", "match_recognize"}
_AGGREGATES = {
    "any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k", "array_agg",
    "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "collect_list", "collect_set",
    "corr", "count", "count_if", "covar_pop", "covar_samp", "every", "first", "first_value",
    "grouping", "histogram_numeric", "kurtosis", "last", "last_value", "listagg", "max", "max_by",
    "mean", "median", "min", "min_by", "mode", "percentile", "percentile_approx", "percentile_cont",
    "percentile_disc", "regr_avgx", "regr_avgy", "regr_count", "regr_slope", "skewness", "some",
    "std", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "try_avg", "try_sum",
    "var_pop", "var_samp", "variance"}


def is_stateless(text: str) -> bool:
    """Whether SQL looks at one row of one stream at a time, so that micro-batches do not matter.

    Examples
    --------
    >>> is_stateless("SELECT *, upper(name) FROM clean WHERE temp > 20")
    True
    >>> is_stateless("SELECT max(temp) FROM clean")
    False
    """
    tokens = list(_tokens(text))
    if len(sql_streams(text)) != 1:
        return False
    for (kind, token, _, _), (_, following, _, _) in pairwise([*tokens, ("sign", "", 0, 0)]):
        word = token.lower()
        if kind == "name" and (word in _ACROSS_ROWS
                               or (word in _AGGREGATES and following == "(")):
            return False
    return sum(token.lower() == "select" for _, token, _, _ in tokens) == 1
