"""Compiled loops whose cache can never run stale code.

Numba keeps compiled functions on disk and throws them away when the file of the *function* changes.
But a compiled function contains its callees and the constants of other modules.  So here a function
is known by a hash of its module's text and of all modules of the package that it imports, directly
or not: an edit or an upgrade anywhere among them compiles it anew, and nothing else does.

The cache is in the user's cache folder (``NUMBA_CACHE_DIR`` if that is set), for packages are often
installed where nobody may write, and in a folder for temporary files where there is no such thing.
Where neither can be written nothing is cached.  In it, each version of a module has a folder named
after that hash, so that all installations of a version share what one of them has compiled, and
the folder can be carried to other machines (`slackwater warm --archive`).

May import: nothing of Slackwater.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.core.runtime import rtsys
from numba.misc.appdirs import AppDirs

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["PACKAGE", "cache_folder", "forget_unused", "njit", "source_key"]

_WORD = re.compile(r"\w+")
PACKAGE = str(Path(__file__).resolve().parents[1])


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
            compiled._cache = _LateCache(function)  # what Dispatcher.enable_caching does
        return compiled

    return decorate


@cache
def source_key(file: str, root: str = PACKAGE) -> str:
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
    """Where compiled functions are kept; None if nothing can be written.

    The folder that ``NUMBA_CACHE_DIR`` names may be one that can only be read: an image's, say.
    """
    given = numba.config.CACHE_DIR
    named = Path(given) / "slackwater" if given else None
    user = AppDirs(appname="slackwater", appauthor=False).user_cache_dir
    for base in (named or Path(user) / "compiled",
                 Path(tempfile.gettempdir()) / f"slackwater-{_user()}"):
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = base.stat()
            # what is read from there is run: nobody else may be able to write it
            if base != named and hasattr(os, "getuid") and (
                    info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) & 0o022):
                continue
            tempfile.TemporaryFile(dir=base).close()
            return base
        except OSError:
            if base == named and base.is_dir():
                return base
    return None


def forget_unused(days: int = 30) -> int:
    """Delete what no process has used for so long: versions that are gone. Returns how many."""
    folder = cache_folder()
    old = [] if folder is None else [
        one for one in folder.iterdir()
        if one.is_dir() and time.time() - one.stat().st_mtime > days * 86400]
    for one in old:
        shutil.rmtree(one, ignore_errors=True)
    return len(old)


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _readable(function: Callable[..., Any]) -> bool:
    """Whether the function's text is a file of this package: else no hash can vouch for it."""
    return _real(function.__code__.co_filename).startswith(PACKAGE + os.sep)


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


@cache
def _in_use(folder: str) -> str:
    """Say of a folder that it is still used, once a day (see `forget_unused`)."""
    try:
        if time.time() - os.stat(folder).st_mtime > 86400:
            os.utime(folder)
    except OSError:
        pass  # not there yet, or another user's
    return folder


class _KeyedLocator(caching._CacheLocator):
    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._file = _real(file)
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        """A folder for this version of the module."""
        folder = cache_folder()
        assert folder is not None
        return _in_use(os.path.join(folder, source_key(self._file)))

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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As numba does it, but without loading all that only a compiler needs (0.3 s)."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """One process at a time: two that save at once would take the same name for their code."""
        try:
            self._impl.locator.ensure_cache_path()
            with _locked(self._cache_path):
                super().save_overload(sig, data)
        except OSError:
            pass  # a folder that can only be read, or a full disk: compiled again next time


class _LateCache:
    """The cache of a function from its first call on: most of a process's functions have none."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _cache(self) -> _KeyedCache:
        return _KeyedCache(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    with open(os.path.join(folder, ".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
