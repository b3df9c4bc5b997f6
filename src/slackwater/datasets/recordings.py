"""The recordings D-1 … D-5 and S-7 … S-10 that came with paper 3: real devices, real networks.

W. Weiss, V. J. Expósito Jiménez, H. Zeiner, JOANNEUM RESEARCH; CC-BY-SA 4.0.  They are not part of
this package; point ``SLACKWATER_RECORDINGS`` at a folder that has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from slackwater.core.events import Roles

__all__ = ["FINISHED", "FOLDER", "ROLES", "find_recordings", "is_recording"]

ROLES = Roles(
    time="S.Client.Detection.Time",
    arrival="S.Message.received.time.ms",
    source="S.Device.ID",
    sequence="S.Message.ID",
    unit="ms",
)
"""What the columns of a recording mean."""

FINISHED = "C.Arrival.Time"
"""When the client had the answer: the end of the full processing time."""

FOLDER = "SLACKWATER_RECORDINGS"
"""Environment variable that names the folder of the recordings."""


def is_recording(columns: Iterable[str]) -> bool:
    """Tell a recording by its header.

    Examples
    --------
    >>> is_recording(["time", "arrival"])
    False
    """
    needed = {ROLES.time, ROLES.arrival, ROLES.source, ROLES.sequence, FINISHED}
    return needed <= set(columns)


def find_recordings(series: str, folder: Path | None = None) -> list[Path]:
    """Files of a series (``"d"`` or ``"s"``), in the order of their numbers; none if not there."""
    where = folder if folder is not None else os.environ.get(FOLDER)
    if not where:
        return []
    found = [p for p in Path(where).glob(f"{series}-*.csv") if p.stem.split("-")[-1].isdigit()]
    return sorted(found, key=lambda p: int(p.stem.split("-")[-1]))
