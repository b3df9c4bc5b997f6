"""The Java that Spark uses, for other programs too."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path


@cache
def java() -> str:
    """The path of a Java 17 or newer."""
    from slackwater.spark.session.java import find_java

    home = find_java() or os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    found = shutil.which("java")
    assert found, "find_java raises where there is none"
    return found
