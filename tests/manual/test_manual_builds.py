"""The manual builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from blocks import ROOT
from manual.drawings import drawings


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "mkdocs", "build", "--strict",
         "--site-dir", str(site)],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")})
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return site


def test_nothing_is_loaded_from_elsewhere(built):
    pages = list(built.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]+src=\"?(https?:[^\"> ]+)", text)
        loaded += re.findall(r"<link[^>]+rel=\"?(?:stylesheet|icon|preconnect)[^>]+href=\"?(https?:"
                             r"[^\"> ]+)", text)
        assert not loaded, page.name
    for style in built.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:", style.read_text(encoding="utf-8")), style.name


def test_the_reference_has_every_command_policy_and_option(built):
    from manual.reference.commands import commands
    from slackwater.pipeline.connectors import SINKS, SOURCES
    from slackwater.reorder import POLICIES

    def page(name):
        return (built / "reference" / f"{name}.html").read_text(encoding="utf-8")

    for name, command in commands():
        assert f"slackwater {name}" in page("commands")
        for option in command.params:
            if option.param_type_name == "option" and not option.hidden and option.name != "help":
                assert option.opts[0] in page("commands"), (name, option.opts)
    assert all(f'id="{name.lower()}"' in page("policies") for name in POLICIES)
    assert all(f"kind: {kind}" in page("pipeline_file") for kind in (*SOURCES, *SINKS))


def test_drawings_are_in_the_page_and_can_be_heard(built):
    text = (built / "concepts_time.html").read_text(encoding="utf-8")
    assert text.count('role="img"') == 7
    assert text.count("<desc") == 7
    assert "<style>.drawing" not in text, "the page's own switch chooses the colours"


@pytest.mark.parametrize("name", list(drawings()))
def test_drawings_are_those_that_the_programs_make(name):
    file = ROOT / "docs" / "drawings" / f"{name}.svg"
    assert file.read_text(encoding="utf-8") == drawings()[name], "python -m manual.drawings"
