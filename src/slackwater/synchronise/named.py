"""Methods by the names under which commands, pipelines and operators know them."""

from __future__ import annotations

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.synchronise.config import Synchroniser
from slackwater.synchronise.frontier import FrontierSync
from slackwater.synchronise.indexed_list import IndexedListSync
from slackwater.synchronise.linked_list import LinkedListSync
from slackwater.synchronise.merged import MergedTreeSync
from slackwater.synchronise.redblack import RedBlackSync
from slackwater.synchronise.tree import TreeSync

__all__ = ["METHODS", "method_named"]

METHODS: dict[str, type[Synchroniser]] = {
    "frontier": FrontierSync, "tree": TreeSync, "merged": MergedTreeSync,
    "redblack": RedBlackSync, "linked": LinkedListSync, "indexed": IndexedListSync}
"""``frontier`` for work, the paper's for study: all release the same events in the same order."""


def method_named(name: str) -> type[Synchroniser]:
    """The method of that name.

    Examples
    --------
    >>> method_named("tree").__name__
    'TreeSync'
    """
    if name not in METHODS:
        raise ConfigError("is not a method", step="synchronise.method", got=repr(name),
                          expected=", ".join(METHODS), hint=did_you_mean(str(name), METHODS))
    return METHODS[name]
