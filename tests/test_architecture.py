"""What the folder tree promises: imports point one way, and only spark knows Spark."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "slackwater"
LAYERS = [
    {"core"}, {"reorder"}, {"synchronise", "window", "pattern", "correlate", "checks"},
    {"query"}, {"datasets"}, {"evaluate"}, {"papers"}, {"gateway", "pipeline"}, {"spark"}, {"cli"},
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
        if name.split(".")[0] == "pyspark":
            assert part == "spark", "only slackwater.spark imports pyspark"


def test_every_module_has_its_place():
    names = {p.stem if p.is_file() else p.name for p in ROOT.iterdir()
             if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert names - {"__init__"} == set(RANK)


def test_importing_slackwater_loads_neither_spark_nor_numba():
    code = "import sys, slackwater; print([m for m in ('pyspark', 'numba') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_every_kernel_is_put_to_the_conformance_suite():
    """A class that can be started and restored must be named in a conformance test."""
    kernels = set()
    for stage in ("reorder", "synchronise", "window", "pattern", "correlate", "query"):
        for file in (ROOT / stage).glob("*.py"):
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                    bases = {b.id for b in node.bases if isinstance(b, ast.Name)}
                    if {"start", "restore"} <= methods or "Synchroniser" in bases:
                        kernels.add(node.name)
    kernels -= {"Synchroniser", "Classic"}  # bases of others
    tests = Path(__file__).parent
    texts = [f.read_text() for f in tests.rglob("*.py") if "yield_checks" in f.read_text()
             and f.name != Path(__file__).name]
    missing = {k for k in kernels if not any(k in text for text in texts)}
    assert not missing
