"""How the loops of windows are compiled."""

from __future__ import annotations

from slackwater.core.compiled import njit

__all__ = ["uncounted"]

uncounted = njit(cache=True, nogil=True, _nrt=False)
"""Compile a function that allocates nothing, and count no references to its arrays.

Numba counts references to every array in a tuple that a function is handed, up and down, which for
a call per row costs ten times the work.  A function that does allocate is refused when compiled.
"""
