"""Paper 1: Table I counted, the system delay of its methods, and its experiments run small."""

from __future__ import annotations

import pytest

from slackwater.papers.catalogue import run
from slackwater.papers.synchronisation.counts import counted
from slackwater.papers.synchronisation.delays import system_delay
from slackwater.papers.synchronisation.streams import Streams
from slackwater.synchronise import (
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    TreeSync,
)


def test_table_1():
    """Printed: indexed list 25 and 39, linked list 37 and 37, binary tree 30 and 17."""
    found = {}
    for method in (IndexedListSync, LinkedListSync, TreeSync):
        count = counted(method)
        found[method] = (count["comparisons"], count["updates"])
    assert found[TreeSync] == (29, 17)
    assert found[LinkedListSync] == (37, 39)
    assert found[IndexedListSync] == (28, 39)


def test_method_2_has_no_system_delay():
    made = Streams(8, 2000, delay=(300_000, 100_000))
    assert system_delay(TreeSync, made).mean() > 1
    for method in (MergedTreeSync, RedBlackSync):
        assert system_delay(method, made).max() == 0


@pytest.mark.parametrize("name", ["sync-table1", "sync-fig4", "sync-fig5", "sync-fig6",
                                  "sync-latency"])
def test_experiments_write_data_and_picture(name, tmp_path):
    files = run(name, tmp_path, quick=True).files
    assert [f.suffix for f in files] == [".csv", ".png", ".pdf"]
    assert len(files[0].read_text().splitlines()) > 3
