"""Texts that are nearly queries: grown from the grammars themselves, these with broken bytes, and
real queries with a few of their words changed, which get the furthest.

``python -m tests.query.fuzz 1000000`` tries a million of them, ``600s`` instead of a number as many
as it can in ten minutes of processor time; either way it says how many when it is stopped.  The
seed of a text that fails is printed, and ``python -m tests.query.fuzz 1 SEED`` tries it again.
"""

from __future__ import annotations

import math
import random
import re
import signal
import sys
import time
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import yaml
from lark import Lark

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.query import compile, explain, parse, streams_of
from slackwater.query.grammar import parser_of

LANGUAGES = ("select", "event", "correlate", "recognise")
SCHEMA = pa.schema([
    ("time", pa.timestamp("us", "UTC")), ("value", pa.float64()), ("room", pa.string()),
    ("n", pa.int64()), ("ok", pa.bool_()), ("type", pa.string()), ("order", pa.int32()),
    ("time_min", pa.timestamp("us", "UTC")), ("time_max", pa.timestamp("us", "UTC")),
    ("v", pa.int64()), ("x", pa.float64()), ("id", pa.int64()), ("key", pa.string()),
    ("label", pa.string())])
ROLES = Roles("time", type="type")
PAIRED = Roles("time_max", time_min="time_min", time_max="time_max")
NAMES = ("value", "room", "n", "ok", "time", "order", "a", "b", "A", "B", "s", "i", "MAX", "count",
         "sum", "first", "last", "prev", "quantile", "round", "concat", "coalesce", "window_start",
         "timestamp", "température", "month", "epoch", "PROBABILITY", "text", "integer")
NUMBERS = ("value", "n", "order")
"""Columns that stand in any arithmetic: texts of them alone get past the types."""

SAMPLES = {
    # most of them fit everywhere, so that more of a text is looked at than its first mistake
    "NAME": NAMES, "QUOTED": ('"n"', '`value`', '"a ""b"""'),
    "STRING": (*["'2024-05-01 12:30:00'"] * 6, "'1'", "'1'", "'1'", "'x'", "''", "'it''s'",
               "'%a_'"),
    "NUMBER": (*("1", "0.5", "1") * 5, "0", "2", "1e3", "99", ".5", "9223372036854775807", "1e400",
               "1000000000000000000000"),
    "DURATION": (*("1 s", "30 seconds", "5 minutes 2 s") * 4, "0 s", "1.5 h",
                 "99999999999999 days"),
    "COMPARE": ("=", "!=", "<", "<=", ">", ">=", "<>", "=="), "MINUS": ("-",),
    "QUANTIFIER": ("+", "*", "?", "{2}", "{1,3}", "{,4}", "{2,}", "+?", "{0}", "{ }"),
    "ARROW": ("=>", "->", "~>"), "BRACKETS": ("[]", "[ => ]"), "_TIMESTAMP": ("TIMESTAMP",),
    "_CAST": ("CAST",), "_MATCH_RECOGNIZE": ("MATCH_RECOGNIZE",), "_PATTERN": ("PATTERN",),
    "_PARTITION": ("PARTITION",), "_MEASURES": ("MEASURES",), "_SUBSET": ("SUBSET",),
    "_DEFINE": ("DEFINE",), "_INTERVAL": ("INTERVAL",), "_PERMUTE": ("PERMUTE",),
    "_AFTER": ("AFTER MATCH",), "SKIP_PAST": ("SKIP PAST LAST ROW",),
    "SKIP_NEXT": ("SKIP TO NEXT ROW",), "SKIP_TO": ("SKIP TO FIRST", "SKIP TO LAST", "SKIP TO"),
    "ROWS": ("ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
    "DIRECTION": ("ASC", "DESC"), "NULLS": ("NULLS FIRST",), "SEMANTICS": ("FINAL", "RUNNING"),
}
BYTES = "'\"`()[]{}|@!?*+-−;,.:=<>%/\\\n\t \0ä温\u0301\u200d\ud7ff€0123abcSELECT"


@lru_cache(maxsize=8)
def rules(language: str) -> tuple[Lark, dict[str, list[list[str]]], dict[str, list[list[str]]]]:
    """The rules of a grammar, and for each those expansions that end the soonest."""
    parser = parser_of(language, language, soft=True)
    found: dict[str, list[list[str]]] = {}
    for rule in parser.rules:
        found.setdefault(rule.origin.name, []).append([symbol.name for symbol in rule.expansion])
    depth = dict.fromkeys(found, 99)

    def deep(expansion: list[str]) -> int:
        return 1 + max([depth.get(symbol, 0) for symbol in expansion], default=0)

    for _ in range(40):
        for name, expansions in found.items():
            depth[name] = min(map(deep, expansions))
    return parser, found, {name: [e for e in expansions if deep(e) == depth[name]]
                           for name, expansions in found.items()}


def grown(chance: random.Random, language: str) -> str:
    """A text of a language."""
    parser, expansions, shortest = rules(language)
    words: list[str] = []
    room = [chance.choice((1, 8, 20, 70))]  # small ones are more often queries in every respect
    plain = chance.random() < 0.5

    def grow(symbol: str) -> None:
        if symbol not in expansions:
            word = terminal(chance, parser, symbol)
            words.append(chance.choice(NUMBERS) if plain and word in NAMES else word)
            return
        room[0] -= 1
        for part in chance.choice((expansions if room[0] >= 0 else shortest)[symbol]):
            grow(part)

    grow(language)
    if words[0] == "EXPLAIN" and plain:
        del words[0]
    return " ".join(words)


def terminal(chance: random.Random, parser: Lark, name: str) -> str:
    """Something that a terminal takes."""
    return chance.choice(samples(parser, name))


@lru_cache(maxsize=1024)
def samples(parser: Lark, name: str) -> tuple[str, ...]:
    """Texts that a terminal takes."""
    bare = name.rpartition("__")[2] if "__" in name else name
    bare = bare if bare in SAMPLES else name.removeprefix("expressions__")
    if bare in SAMPLES:
        return SAMPLES[bare]
    pattern = parser.get_terminal(name).pattern
    if pattern.type == "str":
        return (pattern.value,)
    return (re.sub(r"\\(.)", r"\1", re.split(r"\(\?", pattern.value)[0]),)


def broken(chance: random.Random, text: str) -> str:
    """The text with some of its characters changed, moved, doubled or gone."""
    for _ in range(chance.randrange(1, 6)):
        i, j = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        piece = text[i:j][:20]
        text = chance.choice([
            text[:i] + text[i + 1:], text[:i] + chance.choice(BYTES) + text[i:],
            text[:i] + text[i + len(piece):], text[:j] + piece + text[j:],
            text[:i] + chance.choice(BYTES) + text[i + 1:], text[:i] + text[i:j].upper() + text[j:],
            text[:i] + chance.choice(NAMES) + text[j:] if j - i < 9 else text[:i]])
    return text


@lru_cache(maxsize=1)
def real() -> tuple[str, ...]:
    """The queries of the transcripts and of the page about the language."""
    folder = Path(__file__).parents[1] / "transcripts"
    cases = [case for file in sorted(folder.glob("*/*.yaml"))
             for case in yaml.safe_load(file.read_text())]
    page = (folder.parents[1] / "docs" / "queries.md").read_text()
    return (*(case["query"] for case in cases if "query" in case),
            *re.findall(r"```sql\n(.*?)```", page, re.DOTALL))


def changed(chance: random.Random, text: str) -> str:
    """The text with some of its words exchanged for others of their kind, or of any kind."""
    words = re.findall(r"\w+|'[^']*'|[<>=!]+|\s+|.", text, re.DOTALL)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(words))
        word = words[at]
        kinds = [kind for kind, fits in _KINDS.items() if re.fullmatch(fits, word)]
        if kinds and chance.random() < 0.8:
            words[at] = chance.choice(SAMPLES[kinds[0]])
        else:
            words[at] = chance.choice([chance.choice(words), "", word * 2, word])
    return "".join(words)


_KINDS = {"NUMBER": r"\d+", "STRING": r"'[^']*'", "COMPARE": r"[<>=!]+", "NAME": r"[a-z_]\w*",
          "QUANTIFIER": r"[+*?]"}


def text_of(seed: int) -> str:
    """The text of a seed."""
    chance = random.Random(seed)
    if seed % 3 == 0:
        return changed(chance, chance.choice(real()))
    text = grown(chance, chance.choice(LANGUAGES))
    return text if seed % 2 else broken(chance, text)


def tried(text: str) -> str:
    """Compile and explain a text: "taken" or "refused"; any other exception comes through."""
    try:
        two = len(streams_of(parse(text))) == 2
        explain(text)
        compile(text, (SCHEMA, SCHEMA) if two else SCHEMA, PAIRED if two else ROLES)
    except ConfigError:
        return "refused"
    return "taken"


def main(much: str, seed: int) -> None:
    """Try texts, and stop at the first that fails."""
    count, seconds = (1 << 62, float(much[:-1])) if much.endswith("s") else (int(much), math.inf)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began, counts, at = time.process_time(), {"taken": 0, "refused": 0}, seed
    try:
        while at < seed + count and time.process_time() - began < seconds:
            counts[tried(text_of(at))] += 1
            at += 1
    except KeyboardInterrupt:
        print("stopped")
    except Exception:
        print(f"seed {at}:\n{text_of(at)!r}")
        raise
    took = time.process_time() - began
    print(f"{sum(counts.values()):,} texts from seed {seed} in {took:.0f} s of processor time: "
          f"{counts['taken']:,} taken, {counts['refused']:,} refused", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 10**12)
