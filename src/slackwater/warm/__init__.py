"""Compile every loop once, before anybody waits for it.

Enters: nothing.  Leaves: the cache of `core.compiled` filled, for this version and this kind of
processor.  May import: the stages, query, datasets, evaluate.

Loops are compiled for the types that they are called with, so small runs of everything tell the
compiler what to do, and nothing is written down twice.  They share their foundations, so the
first run goes ahead alone; the others then go to as many processes as there are processors.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Collection, Iterator
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path

from slackwater.core import compiled
from slackwater.core.errors import SlackwaterError
from slackwater.warm.small_runs import Workload, workloads

__all__ = ["archive", "warm", "workloads"]


def warm(each: Callable[[str], None] = lambda name: None, *, processes: int | None = None,
         only: Collection[str] | None = None) -> Path:
    """Run every workload, and return the cache's folder.

    Parameters
    ----------
    each
        Hears the name of each workload that is done.
    processes
        How many at a time; None: as many as there are processors.
    only
        The names of those to run; None: all.
    """
    folder = compiled.cache_folder()
    if folder is None:
        raise SlackwaterError(
            "compiled code cannot be kept: neither the user's cache folder nor the folder for "
            "temporary files can be written", step="warm", hint="set NUMBA_CACHE_DIR")
    compiled.forget_unused()
    first, *rest = [one for one in workloads() if only is None or one.name in only]
    each(_run(first))
    for name in _side_by_side(rest, processes or os.cpu_count() or 1):
        each(name)
    return folder


def archive(file: Path) -> None:
    """Pack the cache, for `spark.archives` or an image: see docs/deployment.md."""
    folder = compiled.cache_folder()
    assert folder is not None, "there is nothing to pack"
    wanted = {compiled.source_key(str(path)) for path in Path(compiled.PACKAGE).rglob("*.py")}
    with tarfile.open(file, "w:gz") as packed:
        for one in sorted(folder.iterdir()):
            if one.name in wanted:  # other versions stay here
                packed.add(one, f"slackwater/{one.name}")


def _run(workload: Workload) -> str:
    workload.run()
    return workload.name


def _at(place: int) -> str:
    return _run(_WAITING[place])


_WAITING: list[Workload] = []


def _side_by_side(rest: list[Workload], count: int) -> Iterator[str]:
    """In processes that begin with what this one has loaded."""
    if count < 2 or "fork" not in get_all_start_methods():
        yield from map(_run, rest)
        return
    _WAITING[:] = rest
    with get_context("fork").Pool(count) as pool:
        yield from pool.imap_unordered(_at, range(len(rest)))
