"""One browser for all tests of the page."""

from __future__ import annotations

import pytest

from pages_for_view import CHROMIUM


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as started:
        # in a container the sandbox of Chromium cannot start; the pages are our own
        one = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()
