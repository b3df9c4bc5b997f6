"""What went wrong, in words: out of the traceback that Spark wraps around it."""

from __future__ import annotations

import re

__all__ = ["words_of"]

# the last line of a Python worker's traceback, when it is one of ours
_OURS = re.compile(r"^\s*slackwater\.[\w.]*?\.?(?P<kind>\w+): (?P<words>.*?)"
                   r"(?=\n\s*(?:at |\.\.\. \d+ more|Caused by:|SQLSTATE|Driver stacktrace|"
                   r"During handling|The above exception|Traceback|=== |JVM stacktrace)"
                   r"|\n\s*\n|\Z)",
                   re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Warning|ArrowInvalid)): "
                     r"(?P<words>[^\n]*)$", re.MULTILINE)
_JVM_NOISE = re.compile(r"\n\s*(?:at |=== Streaming Query ===|Current Committed|JVM stacktrace).*",
                        re.DOTALL)


def words_of(error: BaseException) -> str:
    r"""The message of the error that stopped a query.

    Examples
    --------
    >>> words_of(RuntimeError('''[STREAM_FAILED] Query terminated: Job aborted
    ... Traceback (most recent call last):
    ...   File "x.py", line 3, in push
    ... slackwater.core.errors.SnapshotError: restore reorder: the policy has changed
    ...   expected: Tide
    ...   got:      Static
    ...
    ...     at org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1)'''))
    'restore reorder: the policy has changed\n  expected: Tide\n  got:      Static'
    >>> words_of(RuntimeError('''An exception was thrown from the Python worker:
    ... Traceback (most recent call last):
    ... pyarrow.lib.ArrowInvalid: Float value 1.5 was truncated
    ... '''))
    'ArrowInvalid: Float value 1.5 was truncated'
    """
    text = str(error)
    ours = list(_OURS.finditer(text))
    if ours:
        return ours[-1]["words"].rstrip()
    python = list(_PYTHON.finditer(text))
    if python:
        return f"{python[-1]['kind'].rpartition('.')[2]}: {python[-1]['words']}"
    return _JVM_NOISE.sub("", text).strip() or type(error).__name__
