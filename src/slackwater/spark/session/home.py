"""A SPARK_HOME whose Python processes start quickly.

Spark puts a zipped copy of PySpark in front of every Python process that it starts.  Nothing in a
zip is kept compiled, so each process compiles what it imports, for more than half a second; and
every task of a worker reads the archive's directory again.  An installed PySpark is the same
without the zip.  So for sessions on this machine SPARK_HOME is a folder of links to the installed
one, with no zip in it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pyspark

from slackwater.spark.session.own_folder import own_folder

__all__ = ["light_home"]

_ZIPPED = "python"


def light_home() -> None:
    """Set SPARK_HOME, unless somebody has chosen one, or PySpark itself comes out of a zip."""
    real = Path(pyspark.__file__).parent
    if "SPARK_HOME" in os.environ or not (real / "jars").is_dir() or sys.platform == "win32":
        return
    home = own_folder("spark-" + hashlib.blake2b(str(real).encode(), digest_size=8).hexdigest())
    for entry in real.iterdir():
        link = home / entry.name
        if entry.name == _ZIPPED or (link.is_symlink() and link.readlink() == entry):
            continue
        draft = home / f".{entry.name}.{os.getpid()}"
        draft.symlink_to(entry)
        draft.replace(link)  # whole or not at all: other processes may be starting too
    os.environ["SPARK_HOME"] = str(home)
