"""The set-up says how far it is while pip is silent, and all that pip said if it fails."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def fetch():
    spec = importlib.util.spec_from_file_location("fetch", ROOT / "setup" / "fetch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_pip_prints_is_read(fetch):
    assert doctest.testmod(fetch).failed == 0


def test_the_packages_of_the_lock_are_counted(fetch):
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = [line for line in text.splitlines() if "==" in line.partition(";")[0]]
    assert len(fetch._PINNED.findall(text)) == len(pinned) > 50


def test_a_silent_pip_is_spoken_for(fetch, monkeypatch, capfd):
    monkeypatch.setattr(fetch, "EVERY", 0.05)
    silent = "print('Collecting big==1', flush=True); import time; time.sleep(1)"
    assert fetch.shown("dependencies", fetch.Pip(2, lambda: 0), [sys.executable, "-c", silent]) == 0
    said = capfd.readouterr()
    lines = said.out.splitlines()
    assert len([line for line in lines if "fetching 1 of 2 packages: big" in line]) > 5
    assert lines[-1].startswith("dependencies: done (")
    assert said.err == ""
    assert "\r" not in said.out


def test_all_that_a_failing_pip_said_is_shown(fetch, capfd):
    code = "print('Progress 1 of 2'); print('ERROR: hashes do not match'); raise SystemExit(3)"
    assert fetch.shown("dependencies", fetch.Pip(2, lambda: 0), [sys.executable, "-c", code]) == 3
    said = capfd.readouterr()
    assert said.err == "ERROR: hashes do not match\n"
    assert said.out.startswith("dependencies: failed")
