"""Tables of the manual are whole: a bar inside a cell that is not escaped cuts the row."""

from __future__ import annotations

import re

import pytest

from blocks import PAGES

_BAR = re.compile(r"(?<!\\)\|")


def rows_of_tables(text: str):
    """Each table as the numbers of cells of its rows; code is no table."""
    table: list[int] = []
    for line in [*re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines(), ""]:
        if line.startswith("|"):
            table.append(len(_BAR.findall(line.strip())) - 1)
        elif table:
            yield table
            table = []


def test_a_bar_in_a_cell_is_seen():
    assert list(rows_of_tables("| a | b |\n|---|---|\n| `|x|` | y |\n")) == [[2, 2, 4]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_row_has_the_cells_of_its_head(page):
    for table in rows_of_tables(page.read_text(encoding="utf-8")):
        assert set(table) == {table[0]}
