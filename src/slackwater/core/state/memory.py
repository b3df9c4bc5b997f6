"""Loads from any address, for loops over Arrow's buffers.

Addresses are plain integers: numba counts no references to them, which in small functions that take
arrays can cost ten times what the function does, and does not compile a loop once for writable and
once more for read-only memory.  The caller keeps the arrays alive.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = ["address_of", "byte", "half", "word"]


def address_of(array: NDArray[Any]) -> int:
    """Where an array's values begin."""
    return int(array.__array_interface__["data"][0])


def _load(bits: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.IntType(bits)
        value = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
        return value if bits == 64 else builder.zext(value, ir.IntType(64))
    return codegen


@intrinsic
def byte(typingctx: Any, address: Any) -> Any:
    """The byte at an address."""
    return types.uint64(types.int64), _load(8)


@intrinsic
def half(typingctx: Any, address: Any) -> Any:
    """Four bytes, the lowest first."""
    return types.uint64(types.int64), _load(32)


@intrinsic
def word(typingctx: Any, address: Any) -> Any:
    """Eight bytes, the lowest first."""
    return types.uint64(types.int64), _load(64)
