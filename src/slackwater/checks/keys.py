"""Keys: what happens to one key does not depend on the others."""

from __future__ import annotations

from slackwater.checks.subject import KINDS, Subject, collect, run

__all__ = ["check_keys"]


def check_keys(subject: Subject) -> None:
    """A key's rows come out the same whether other keys are there or not."""
    assert subject.key is not None
    together = collect(run(subject.kernel, [subject.events]))
    for value in subject.key_values():
        alone = collect(run(subject.kernel, [subject.of_key(value)]))
        for kind in KINDS:
            mine = [r for r in together[kind] if r.get(subject.key) == value]
            assert alone[kind] == mine, f"{kind} rows of key {value!r} depend on other keys"
