"""What the folder tree promises: imports point one way, and only spark knows Spark."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "slackwater"
LAYERS = [
    {"core"}, {"reorder"}, {"dedupe", "synchronise", "window", "pattern", "correlate", "checks"},
    {"query"}, {"datasets"}, {"frames"}, {"evaluate"}, {"papers", "warm"},
    {"gateway", "pipeline"}, {"spark", "view"}, {"demo"}, {"cli"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("file", sorted(ROOT.rglob("*.py")), ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_point_one_way(file):
    part = file.relative_to(ROOT).parts[0].removesuffix(".py")
    if part == "__init__":
        return
    for name in imports(file):
        if name.startswith("slackwater."):
            other = name.split(".")[1]
            if other in RANK:
                assert RANK[other] <= RANK[part], f"{part} must not import {other}"
                if RANK[other] == RANK[part]:
                    assert other == part, f"{part} and {other} are neighbours and stay apart"
        if name.split(".")[0] == "numba":
            # memory.py makes an intrinsic, which is no loop and needs no cache
            assert file.name in ("compiled.py", "memory.py"), "loops get njit from core.compiled"
        if name.split(".")[0] == "pyspark":
            assert part == "spark", "only slackwater.spark imports pyspark"


def test_every_module_has_its_place():
    names = {p.stem if p.is_file() else p.name for p in ROOT.iterdir()
             if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert names - {"__init__"} == set(RANK)


@pytest.mark.parametrize("module", ["sources.ticks", "runner.processor", "sources.gateway",
                                    "sources.nats", "runner.packing"])
def test_what_sparks_own_processes_load_is_light(module):
    """Spark starts a process for each question to a source or an operator, at every query."""
    code = f"import sys, slackwater.spark.{module}; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                check=True).stdout.split())
    assert not loaded & {"numba", "pandas", "lark", "matplotlib"}


def test_a_packages_names_are_not_hidden_by_its_modules():
    """Python puts an imported module into its package under the module's own name."""
    code = """
import importlib, pkgutil, types, slackwater
names = [m.name for m in pkgutil.walk_packages(slackwater.__path__, "slackwater.")]
for module in map(importlib.import_module, names):
    for name in getattr(module, "__all__", ()):
        if isinstance(getattr(module, name), types.ModuleType):
            print(f"{module.__name__}.{name}")
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == []


def test_importing_slackwater_loads_neither_spark_nor_numba():
    code = "import sys, slackwater; print([m for m in ('pyspark', 'numba') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def kernels_of_the_package() -> set[type]:
    """Every configuration that can be started and restored, in whatever module; not their bases."""
    found = set()
    for info in pkgutil.walk_packages([str(ROOT)], "slackwater."):
        if info.name.split(".")[1] in ("spark", "cli", "gateway", "checks"):
            continue
        module = importlib.import_module(info.name)
        for kind in vars(module).values():
            if (inspect.isclass(kind) and kind.__module__ == info.name
                    and not inspect.isabstract(kind) and not getattr(kind, "_is_protocol", False)
                    and all(callable(getattr(kind, name, None)) for name in ("start", "restore"))):
                found.add(kind)
    return {kind for kind in found if not any(kind in other.__mro__[1:] for other in found)}


def kernels_put_to_the_suite() -> set[type]:
    """The kernels of all conformance tests, and the kernels that these are made of."""
    waiting = []
    for file in Path(__file__).parent.rglob("test_*conform*.py"):
        name = file.relative_to(Path(__file__).parents[1]).with_suffix("").as_posix()
        module = importlib.import_module(name.replace("/", "."))
        waiting += [case.values[0].args[0].kernel for case in module.CASES]
    found = set()
    while waiting:
        kernel = waiting.pop()
        if not (hasattr(kernel, "start") and hasattr(kernel, "restore")):
            continue
        if type(kernel) not in found:
            found.add(type(kernel))
            waiting += vars(kernel).values()
    return found


def test_every_kernel_is_put_to_the_conformance_suite():
    kernels = kernels_of_the_package()
    assert len(kernels) >= 10, "the kernels are not where they are looked for"
    missing = kernels - kernels_put_to_the_suite()
    assert not missing, f"not in any test_*conform*.py: {sorted(k.__name__ for k in missing)}"
