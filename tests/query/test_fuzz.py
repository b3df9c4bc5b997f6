from __future__ import annotations

from tests.query import fuzz


def test_no_text_gives_another_error_than_the_language_has():
    found = {fuzz.tried(fuzz.text_of(seed)) for seed in range(2000)}
    assert {"taken", "refused"} <= found, "the texts are too far from queries, or too near"


def test_texts_are_grown_from_every_language():
    starts = {fuzz.text_of(seed).split()[0].upper() for seed in range(1, 200, 2)}
    assert {"SELECT", "EVENT", "EXPLAIN"} <= starts
