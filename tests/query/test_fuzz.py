from __future__ import annotations

import pytest
from lark.exceptions import UnexpectedInput

from slackwater.query.expr.parse import Builder, Language, Refusal
from slackwater.query.grammar import parser_of
from tests.query import fuzz


def test_no_text_gives_another_error_than_the_language_has():
    found = {fuzz.tried(fuzz.text_of(seed)) for seed in range(2000)}
    assert {"taken", "refused"} <= found, "the texts are too far from queries, or too near"


def test_texts_are_grown_from_every_language():
    starts = {fuzz.text_of(seed).split()[0].upper() for seed in range(1, 200, 2)}
    assert {"SELECT", "EVENT", "EXPLAIN"} <= starts


def test_a_second_look_is_needed_at_reserved_words_only():
    looks = 0
    for seed in range(1500):
        text = fuzz.text_of(seed)
        for name in fuzz.LANGUAGES:
            language = Language(name, name, (), Builder)
            refused = language.tree(text)
            if isinstance(refused, Refusal) and not refused.by_a_word:
                looks += 1
                with pytest.raises(UnexpectedInput):
                    parser_of(name, name, soft=True).parse(text)
    assert looks > 1000
