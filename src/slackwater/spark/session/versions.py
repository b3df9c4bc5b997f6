"""The versions of Spark that the operators are tested with, and no others."""

from __future__ import annotations

import pyspark

__all__ = ["BEFORE_4_2", "TESTED", "check_version"]

TESTED = ("4.1", "4.2", "4.3")

BEFORE_4_2 = pyspark.__version__.startswith("4.1.")
"""Whether this Spark lacks what came with 4.2; whatever asks is to go when 4.1 does."""


def check_version(version: str) -> None:
    """Refuse a Spark that nobody has tried: its failures would be late and hard to read.

    Examples
    --------
    >>> check_version("4.3.0")
    >>> check_version("4.0.1")
    Traceback (most recent call last):
      ...
    ImportError: slackwater.spark works with PySpark 4.1, 4.2 and 4.3, and 4.0.1 is installed.
    Install one of these: pip install "pyspark>=4.1,<4.4"
    """
    if ".".join(version.split(".")[:2]) not in TESTED:
        *others, last = TESTED
        major, minor = last.split(".")
        raise ImportError(
            f"slackwater.spark works with PySpark {', '.join(others)} and {last}, and {version} is "
            f"installed. Install one of these: pip install "
            f'"pyspark>={TESTED[0]},<{major}.{int(minor) + 1}"')
