"""The wheel, built and installed where nothing else of this repository is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FRAME = """
import pyarrow as pa, slackwater
late = pa.table({"time": [3, 1, 9], "arrival": [3, 4, 9]})
print(slackwater.reorder(late, "Static(buffer=5s)", unit="s")["time"].to_pylist())
"""
IMPORTS = """
import importlib, pkgutil, sys, warnings, slackwater
names = [m.name for m in pkgutil.walk_packages(slackwater.__path__, "slackwater.")]
for name in names:
    importlib.import_module(name)
elsewhere = [n for n, m in sys.modules.items() if n.split(".")[0] == "slackwater"
             and not m.__file__.startswith(sys.prefix)]
assert not elsewhere, elsewhere
from pathlib import Path
from slackwater.demo.story import demo_pipeline
from slackwater.view.page import inline_page
Path("feed").mkdir()
assert demo_pipeline(Path()).steps and inline_page({})
print(len(names))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The `bin` of a new environment that has the wheel.

    Its dependencies are those of the environment that runs this test: a path file names their
    folder, behind the new environment's own.  Path files in that folder, by which an editable
    install is found, are not read from there.
    """
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist", cwd=ROOT)
    (wheel,) = (folder / "dist").glob("slackwater-*.whl")
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    own = Path(run(binaries / "python", "-c",
                   "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return binaries


def run(*command: object, cwd: Path | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_command_knows_its_version(installed, tmp_path):
    from slackwater import __version__

    assert run(installed / "slackwater", "--version", cwd=tmp_path) == f"slackwater {__version__}\n"


def test_a_frame_in_three_lines(installed, tmp_path):
    assert run(installed / "python", "-c", FRAME, cwd=tmp_path) == "[1, 3, 9]\n"


def test_every_module_and_file_is_in_it(installed, tmp_path):
    modules = [f for f in (ROOT / "src" / "slackwater").rglob("*.py") if f.name != "__init__.py"]
    assert int(run(installed / "python", "-c", IMPORTS, cwd=tmp_path)) >= len(modules)
