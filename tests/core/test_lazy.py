"""Names of a package that are loaded when they are first used."""

from __future__ import annotations

import pytest

from slackwater.core.lazy import lazy


def test_a_name_that_its_module_would_hide_is_refused():
    with pytest.raises(ValueError, match=r"core\.micros would be the module"):
        lazy("slackwater.core", {"micros": "micros"})


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'hours'"):
        lazy("slackwater.core", {"micros": "durations"})("hours")
