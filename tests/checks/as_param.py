"""A check of the conformance suite as a parameter of a test."""

from __future__ import annotations

import pytest


def param(kernel: str, promise: str, check):
    return pytest.param(check, id=f"{kernel}: {promise}")
