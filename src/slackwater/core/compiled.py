"""Compiled loops whose cache can never run stale code.

Numba keeps compiled functions on disk and throws them away when the file of the *function* changes.
But a compiled function contains its callees and the constants of other modules.  So here a function
is known by a hash of its module's text and of all modules of the package that it imports, directly
or not: an edit or an upgrade anywhere among them compiles it anew, and nothing else does.

The cache is in the user's cache folder (``NUMBA_CACHE_DIR`` if that is set), for packages are often
installed where nobody may write, and in a folder for temporary files where there is no such thing.
Where neither can be written nothing is cached.

May import: nothing of Slackwater.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.misc.appdirs import AppDirs

__all__ = ["cache_folder", "njit", "source_key"]

_WORD = re.compile(r"\w+")
_PACKAGE = str(Path(__file__).resolve().parents[1])


def njit(**options: Any) -> Any:
    """``numba.njit``, with ``cache=True`` meaning the cache of this module.

    Examples
    --------
    >>> @njit(cache=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    cached = options.pop("cache", False)

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        if cached and cache_folder() is not None and _readable(function):
            compiled._cache = _KeyedCache(function)  # what Dispatcher.enable_caching does
        return compiled

    return decorate


def source_key(file: str, root: str = _PACKAGE) -> str:
    """A hash of a module's text and of every module of its package that it imports in the end."""
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += _module(one, root)[1]
    parts = [f"{one[len(root):]} {_module(one, root)[0]}" for one in sorted(seen)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


@cache
def cache_folder() -> Path | None:
    """Where compiled functions are kept; None if nothing can be written."""
    place = hashlib.blake2b(_PACKAGE.encode(), digest_size=8).hexdigest()
    given = numba.config.CACHE_DIR
    user = AppDirs(appname="slackwater", appauthor=False).user_cache_dir
    for base in (Path(given) / "slackwater" if given else Path(user) / "compiled",
                 Path(tempfile.gettempdir()) / f"slackwater-{_user()}"):
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = base.stat()
            # what is read from there is run: nobody else may be able to write it
            if not given and hasattr(os, "getuid") and (
                    info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o022):
                continue
            (base / place).mkdir(exist_ok=True)
            tempfile.TemporaryFile(dir=base / place).close()
            return base / place
        except OSError:
            continue
    return None


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _readable(function: Callable[..., Any]) -> bool:
    """Whether the function's text is a file of this package: else no hash can vouch for it."""
    return _real(function.__code__.co_filename).startswith(_PACKAGE + os.sep)


@cache
def _real(file: str) -> str:
    """The file itself, without links; empty if there is none."""
    return os.path.realpath(file) if os.path.isfile(file) else ""


@cache
def _module(file: str, root: str) -> tuple[str, tuple[str, ...]]:
    """A hash of a module's text, and the modules of the package that its imports name."""
    with open(file, "rb") as opened:
        text = opened.read()
    known = _modules(root)
    parts, plain = _imports(os.path.basename(root))
    names = {name.decode() for name in plain.findall(text)}
    for found, what in parts.findall(text):
        module = found.decode()
        names.add(module)
        names |= {f"{module}.{part}" for part in _WORD.findall(what.decode())}
    return (hashlib.blake2b(text, digest_size=16).hexdigest(),
            tuple(known[name] for name in names if name in known))


@cache
def _imports(package: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """What ``from package… import …`` and ``import package.…`` look like: also inside functions."""
    name = re.escape(package).encode()
    return (re.compile(b"from (" + name + rb"[\w.]*) import (\([^)]*\)|[^\n]*)"),
            re.compile(b"import (" + name + rb"\.[\w.]+)"))


@cache
def _modules(root: str) -> dict[str, str]:
    """The files of a package, by the names of their modules."""
    found, waiting = {}, [(os.path.basename(root), root)]
    while waiting:
        name, folder = waiting.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == "__init__.py":
                    found[name] = entry.path
                elif entry.name.endswith(".py"):
                    found[f"{name}.{entry.name[:-3]}"] = entry.path
                elif entry.is_dir() and entry.name != "__pycache__":
                    waiting.append((f"{name}.{entry.name}", entry.path))
    return found


class _KeyedLocator(caching._CacheLocator):
    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._file = _real(file)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """The package's folder, a folder for each module's package in it."""
        folder = cache_folder()
        assert folder is not None
        inside = os.path.dirname(self._file[len(_PACKAGE) + 1:])
        return os.path.join(folder, inside.replace(os.sep, ".") or "top")

    def get_source_stamp(self) -> str:
        """What numba compares before it trusts what it finds."""
        return source_key(self._file)

    def get_disambiguator(self) -> str:
        """Two functions of a module may have one name."""
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _KeyedLocator:
        """A locator for a function in a file."""
        return cls(function, file)


class _KeyedImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_KeyedLocator,)


class _KeyedCache(caching.FunctionCache):
    _impl_class = _KeyedImpl
