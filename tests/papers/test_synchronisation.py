"""Paper 1: Table I counted, the system delay of its methods, and its experiments run small."""

from __future__ import annotations

import pytest

from slackwater.papers.catalogue import run
from slackwater.papers.synchronisation.counts import (
    ARRIVALS,
    bisections,
    counted,
    example,
    possible_orders,
)
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


def test_what_the_lost_order_of_arrival_can_and_cannot_change():
    """The tree's counts and the number of bits a list sets are what they are in every order."""
    orders = possible_orders()
    assert len(orders) == len(set(orders)) == 189
    assert ARRIVALS in orders
    assert min(map(bisections, orders)) == 27  # the paper has 25
    assert bisections(ARRIVALS) == counted(IndexedListSync)["comparisons"]
    for order in orders[::20]:
        tree = counted(TreeSync, order)
        assert (tree["comparisons"], tree["updates"]) == (29, 17)
        in_order = sum(a < b for i, b in enumerate(order) for a in order[:i])
        for method in (IndexedListSync, LinkedListSync):
            assert counted(method, order)["updates"] == in_order
    assert example().num_rows == 12


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
