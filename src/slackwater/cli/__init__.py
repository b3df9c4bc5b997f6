"""The command `slackwater`: one small file per command, each a thin shell over the library.

Enters: arguments and files.  Leaves: tables and pictures for people, JSON for machines (``--json``,
then standard output has nothing else), files.  May import: everything.

Exit codes: 0 done; 1 done in part (an experiment that could not be run); 2 a mistake in the
arguments or the input, with a message on standard error that says what to do.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

from slackwater import __version__
from slackwater.cli.without_pandas import without_pandas
from slackwater.core.errors import SlackwaterError

if TYPE_CHECKING:
    from slackwater.cli.command_line import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'slackwater.cli' has no attribute {name!r}")
    from slackwater.cli.command_line import app

    return app


def main() -> None:
    """Run the command; a user's mistake ends in a message, not in a traceback."""
    if sys.argv[1:] == ["--version"]:
        print(f"slackwater {__version__}")  # the one answer that needs nothing else loaded
        sys.exit(0)
    # importing and loading kernels makes objects that all stay: to look at them again and again
    # for garbage takes a quarter of a short command's time
    gc.set_threshold(50_000, 20, 20)
    without_pandas(sys.argv[1:])
    from slackwater.cli.command_line import app

    try:
        app()
    except SlackwaterError as error:
        print(f"slackwater: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno is None:
            raise
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"slackwater: {where}{error.strerror}", file=sys.stderr)
        sys.exit(2)
