"""The cache of compiled loops: found again, and never stale."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from slackwater.core import compiled

LOOPS = """
from tiny.callee import step
from tiny.core.compiled import njit

@njit(cache=True)
def run(n):
    total = 0
    for i in range(n):
        total += step(i)
    return total

if __name__ == "__main__":
    print(run(3), sum(run.stats.cache_hits.values()))
"""
CALLEE = """
from tiny.constants import FACTOR
from tiny.core.compiled import njit

@njit(cache=True)
def step(x):
    return x * FACTOR
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A package with a loop, its callee, a constant, and a module that is not used."""
    package = tmp_path / "tiny"
    (package / "core").mkdir(parents=True)
    for name, text in {"__init__": "", "core/__init__": "", "loops": LOOPS, "callee": CALLEE,
                       "constants": "FACTOR = 2\n", "other": "X = 1\n"}.items():
        (package / f"{name}.py").write_text(text)
    shutil.copy(compiled.__file__, package / "core" / "compiled.py")
    return package


def edit(file: Path, old: str, new: str) -> None:
    """Change a file so that neither its size nor its time shows it."""
    assert len(old) == len(new)
    before = file.stat()
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)


def run(tiny: Path, **env: str) -> tuple[int, int]:
    """The result of the loop in a process of its own, and how often the cache had it."""
    home = {"HOME": str(tiny.parent / "home"), "XDG_CACHE_HOME": str(tiny.parent / "cache")}
    plain = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    said = subprocess.run([sys.executable, "-m", "tiny.loops"], cwd=tiny.parent, text=True,
                          env={**plain, **home, "PYTHONPATH": str(tiny.parent), **env},
                          capture_output=True, check=True)
    result, hits = said.stdout.split()
    return int(result), int(hits)


def test_compiled_code_is_found_again_and_a_changed_callee_is_noticed(tiny):
    assert run(tiny) == (6, 0)
    assert run(tiny) == (6, 1)
    edit(tiny / "callee.py", "x * FACTOR", "x + FACTOR")
    assert run(tiny) == (9, 0)
    assert run(tiny) == (9, 1)


def test_so_is_a_changed_constant_of_another_module(tiny):
    assert run(tiny) == (6, 0)
    edit(tiny / "constants.py", "FACTOR = 2", "FACTOR = 5")
    assert run(tiny) == (15, 0)


def test_what_is_not_imported_changes_nothing(tiny):
    assert run(tiny) == (6, 0)
    edit(tiny / "other.py", "X = 1", "X = 2")
    assert run(tiny) == (6, 1)


def test_nothing_is_written_into_the_package(tiny):
    run(tiny)
    assert not list(tiny.rglob("*.nbi"))
    assert list((tiny.parent / "cache" / "slackwater").rglob("loops.run*.nbi"))


def test_without_a_home_to_write_to_the_cache_is_a_temporary_folder(tiny):
    (tiny.parent / "file").touch()
    (tiny.parent / "tmp").mkdir()
    nowhere = {"XDG_CACHE_HOME": str(tiny.parent / "file" / "x"),
               "TMPDIR": str(tiny.parent / "tmp")}
    assert run(tiny, **nowhere) == (6, 0)
    assert run(tiny, **nowhere) == (6, 1)


def test_a_temporary_folder_that_others_can_write_to_is_not_trusted(tiny):
    (tiny.parent / "file").touch()
    planted = tiny.parent / "tmp" / f"slackwater-{os.getuid()}"
    planted.mkdir(parents=True)
    planted.chmod(0o777)
    nowhere = {"XDG_CACHE_HOME": str(tiny.parent / "file" / "x"),
               "TMPDIR": str(tiny.parent / "tmp")}
    assert run(tiny, **nowhere) == (6, 0)
    assert run(tiny, **nowhere) == (6, 0)
    assert not list(planted.rglob("*.nbi"))


def test_the_folder_that_numba_is_told_is_used(tiny):
    told = {"NUMBA_CACHE_DIR": str(tiny.parent / "told")}
    assert run(tiny, **told) == (6, 0)
    assert run(tiny, **told) == (6, 1)
    assert list((tiny.parent / "told").rglob("loops.run*.nbi"))


def test_another_installation_of_the_same_version_finds_it(tiny):
    assert run(tiny) == (6, 0)
    other = tiny.parent / "elsewhere" / "tiny"
    shutil.copytree(tiny, other)
    same = {"XDG_CACHE_HOME": str(tiny.parent / "cache")}
    assert run(other, **same) == (6, 1)
    edit(other / "constants.py", "FACTOR = 2", "FACTOR = 5")
    assert run(other, **same) == (15, 0)
    assert run(tiny) == (6, 1)  # two versions at a time do not push each other out


def test_versions_that_nobody_uses_are_forgotten(tiny, monkeypatch):
    run(tiny)
    kept = tiny.parent / "cache" / "slackwater" / "compiled"
    assert len(list(kept.iterdir())) == 2
    os.utime(next(kept.iterdir()), (0, 0))
    monkeypatch.setattr(compiled, "cache_folder", lambda: kept)
    assert compiled.forget_unused() == 1
    assert len(list(kept.iterdir())) == 1


def test_a_folder_that_can_only_be_read_is_read(tiny, monkeypatch):
    def refuse(**where: object) -> None:
        raise PermissionError

    told = tiny.parent / "told"
    run(tiny, NUMBA_CACHE_DIR=str(told))
    monkeypatch.setattr(compiled.numba.config, "CACHE_DIR", str(told))
    monkeypatch.setattr(compiled.tempfile, "TemporaryFile", refuse)
    assert compiled.cache_folder.__wrapped__() == told / "slackwater"
    monkeypatch.setattr(compiled.numba.config, "CACHE_DIR", str(told / "none"))
    (told / "none").touch()
    assert compiled.cache_folder.__wrapped__() is None


def read_anew():
    """As another process would."""
    compiled._module.cache_clear()
    compiled.source_key.cache_clear()


@pytest.mark.parametrize("changed", ["loops", "callee", "constants", "core/compiled"])
def test_the_key_follows_every_source_that_is_imported_in_the_end(tiny, changed):
    file = tiny / "loops.py"
    before = compiled.source_key(str(file), str(tiny))
    read_anew()
    assert compiled.source_key(str(file), str(tiny)) == before
    (tiny / f"{changed}.py").write_text((tiny / f"{changed}.py").read_text() + "# more\n")
    read_anew()
    assert compiled.source_key(str(file), str(tiny)) != before


def test_imports_are_found_however_they_are_written(tiny):
    (tiny / "many.py").write_text(
        "import tiny.other\nfrom tiny import (\n    callee,\n    constants as c,\n)\n"
        "def f():\n    from tiny.loops import run\n")
    names = {Path(file).stem for file in compiled._module(str(tiny / "many.py"), str(tiny))[1]}
    assert names == {"other", "callee", "constants", "loops", "__init__"}


def test_the_package_imports_by_full_names():
    """The key is made from ``from slackwater… import``: a relative import would escape it."""
    for file in Path(compiled.PACKAGE).rglob("*.py"):
        assert not re.search(r"^\s*from \.", file.read_text(), re.MULTILINE), file
