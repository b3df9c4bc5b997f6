"""Which batches a sink already holds."""

from __future__ import annotations

from slackwater.core.errors import DataError

__all__ = ["already_written"]


def already_written(last: int | None, batch_id: int, name: str, where: str) -> bool:
    """Whether a sink that holds batches up to `last` of `name` holds this one.

    Only the last batch can come again.  An older one means that the checkpoint is an old copy; to
    skip its rows would lose them without a word.

    Examples
    --------
    >>> already_written(None, 0, "p.s", "t"), already_written(4, 5, "p.s", "t")
    (False, False)
    >>> already_written(4, 4, "p.s", "t")
    True
    """
    if last is not None and batch_id < last:
        raise DataError(
            f"{where} holds batches up to {last} of this sink, and now batch {batch_id} comes",
            step=name, expected=f"batch {last} again, or {last + 1}", got=f"batch {batch_id}",
            hint="is the checkpoint an old copy? Begin with a new one, and another table")
    return last is not None and batch_id == last
