"""Functions that other systems have: ours by another name, spelt out, or what to write instead."""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.core.errors import did_you_mean
from slackwater.query.expr.tree import Binary, Call, Case, Cast, Expr, IsNull, Literal

__all__ = ["SAME", "WINDOWS", "column_hint", "function_hint", "spelt_out"]

SAME = {"ceiling": "ceil", "pow": "power", "ifnull": "coalesce", "nvl": "coalesce",
        "char_length": "length", "character_length": "length", "len": "length", "lcase": "lower",
        "ucase": "upper", "dayofmonth": "day", "substr": "substring", "instr": "strpos",
        "to_unixtime": "epoch"}
"""Names of others, and what the same function is called here."""

WINDOWS = "a window belongs to the stream: FROM s [RANGE 1 minute, SLIDE 1 minute] (tumbling), " \
           "[RANGE 5 minutes, SLIDE 1 minute] (hopping), [SESSION 5 minutes]; with window_start " \
           "and window_end"
_NO_CLOCK = "a query has no clock, so that a second run gives the same: compare with a column, " \
            "such as the time of arrival"
_CLOCKS = ("current_timestamp", "current_date", "current_time", "localtimestamp", "sysdate")
_NEIGHBOURS = "rows are compared with those before them by MATCH_RECOGNIZE: PREV(A.value)"
_SEARCH = "LIKE 'E%' (begins), LIKE '%x%' (contains), LIKE '%z' (ends)"
_QUANTILE = "QUANTILE(value, 0.9)"
_LISTS = "there are no lists: SELECT the rows themselves"
_APART = "a - b is a duration, EPOCH(a) - EPOCH(b) the seconds between them"
_HINTS = {
    **dict.fromkeys(("tumble", "hop", "session", "window", "session_window", "cumulate",
                     "tumble_start", "tumble_end", "hop_start", "hop_end", "session_start",
                     "session_end", "tumble_rowtime", "time_bucket", "date_trunc", "date_bin"),
                    WINDOWS),
    **dict.fromkeys((*_CLOCKS, "now", "getdate", "proctime"), _NO_CLOCK),
    **dict.fromkeys(("lag", "lead", "row_number", "rank", "dense_rank", "prev", "next",
                     "first_value", "last_value"), _NEIGHBOURS),
    **dict.fromkeys(("starts_with", "startswith", "ends_with", "endswith", "contains",
                     "regexp_like", "rlike", "regexp_extract", "regexp_replace"), _SEARCH),
    **dict.fromkeys(("percentile", "percentile_approx", "approx_percentile", "percentile_cont",
                     "approx_quantile", "quantile_cont"), _QUANTILE),
    **dict.fromkeys(("array_agg", "collect_list", "collect_set", "list", "listagg", "string_agg",
                     "array", "map", "struct", "named_struct"), _LISTS),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff", "age"), _APART),
    **dict.fromkeys(("date_add", "date_sub", "dateadd", "timestampadd"),
                    "add a duration: time + 1 day"),
    **dict.fromkeys(("to_date", "date"), "a day is YEAR(t), MONTH(t) and DAY(t)"),
    **dict.fromkeys(("date_format", "to_char", "strftime"), "CAST(time AS TEXT) is ISO 8601"),
    **dict.fromkeys(("rand", "random", "uuid"),
                    "there is no chance in a query, so that a second run gives the same"),
    **dict.fromkeys(("variance", "var_samp", "var_pop"), "STDDEV(value) is its root"),
    **dict.fromkeys(("count_if", "countif"), "SUM(CASE WHEN value > 2 THEN 1 ELSE 0 END)"),
    **dict.fromkeys(("max_by", "min_by", "arg_max", "arg_min"),
                    "LAST(value) and FIRST(value) go by time"),
    **dict.fromkeys(("int", "integer", "bigint", "double", "float", "string", "text"),
                    "CAST(value AS INTEGER)"),
    "log": "LN(x) is the natural logarithm, LOG10(x) the decimal one",
    "log2": "LN(x) / LN(2)", "unix_timestamp": "EPOCH(time)", "any_value": "FIRST(value)",
    "concat_ws": "CONCAT(a, '-', b)", "approx_count_distinct": "COUNT(DISTINCT value)",
    "isnan": "value != value", "trunc": "CAST(x AS INTEGER)", "truncate": "CAST(x AS INTEGER)",
}


def function_hint(name: str, known: Iterable[str]) -> str | None:
    """What to write instead of a function that is not here."""
    return _HINTS.get(name.lower()) or did_you_mean(name, list(known))


def column_hint(name: str, known: Iterable[str]) -> str | None:
    """What to write instead of a column that is not there."""
    return _NO_CLOCK if name.lower() in _CLOCKS else did_you_mean(name, list(known))


def spelt_out(call: Call) -> Expr:
    """The call in our own words, where others have another word for it."""
    name, args, at = SAME.get(call.function, call.function), call.args, call.at
    match name, len(args):
        case "mod", 2:
            return Binary("%", *args, at=at)
        case "if" | "iff", 3:
            return Case(args[:1], args[1:2], args[2], at=at)
        case "isnull", 1:
            return IsNull(args[0], at=at)
        case "isnotnull", 1:
            return IsNull(args[0], True, at=at)
        case "to_timestamp", 1:
            return Cast(args[0], "timestamp", at=at)
        case "left", 2:
            return Call("substring", (args[0], Literal(1, "number", at=at), args[1]), at=at)
    return call if name == call.function else Call(name, args, at=at)
