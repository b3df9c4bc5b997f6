"""What the gateway says on standard error: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime

from slackwater.core.errors import ConfigError

__all__ = ["JsonLines", "log_to_stderr"]


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, and an error's trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(), "logger": record.name,
            "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            found["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(found, ensure_ascii=False)


def log_to_stderr(form: str) -> None:
    """Send warnings and errors to standard error, as ``text`` or ``json``."""
    if form not in ("text", "json"):
        raise ConfigError("is not a format of messages", step="log-format",
                          expected="text or json", got=repr(form))
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(
        "%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
