"""Install the locked dependencies with pip, and say every few seconds how far it is.

pip says nothing while it builds or unpacks, and without a terminal nothing while it fetches
hundreds of megabytes.  Runs before anything is installed: the standard library is all there is.

    python setup/fetch.py .venv/bin/python requirements.lock
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

EVERY = 4.0  # seconds between lines where there is no terminal
MEGABYTE = 1e6
_PINNED = re.compile(r"^[A-Za-z0-9][\w.-]*(\[[^\]]*\])?==", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class Pip:
    """What pip is doing, read from what it prints.

    Parameters
    ----------
    total
        The number of packages in the lock file, those for other systems among them.
    installed
        Counts the packages that are in the environment.

    Examples
    --------
    >>> pip = Pip(3, installed=lambda: 1)
    >>> for line in ("Ignoring colorama: markers 'sys_platform ==", "Collecting numpy==2.3.1",
    ...              "  Downloading numpy-2.3.1.whl (18.2 MB)", "Progress 2000000 of 18200000"):
    ...     pip.hear(line)
    >>> pip.now()
    'fetching 1 of 2 packages: numpy, 2 of 18 MB'
    >>> pip.hear("  Building wheel for pyspark (pyproject.toml): started")
    >>> pip.now()
    'building pyspark'
    >>> pip.hear("Installing collected packages: numpy, pyarrow")
    >>> pip.now()
    'installing: 1 of 2 packages'
    """

    def __init__(self, total: int, installed) -> None:
        self.total, self._installed = total, installed
        self._seen, self._name, self._part = 0, "", ""
        self._building, self._installing = "", False

    def hear(self, line: str) -> None:
        """Take one line of pip's output."""
        line = line.strip()
        first, _, rest = line.partition(" ")
        if first == "Ignoring":
            self.total -= 1
        elif first == "Collecting" or line.startswith("Requirement already satisfied: "):
            found = _NAME.match(rest.removeprefix("already satisfied: "))
            self._seen, self._name, self._part = self._seen + 1, found[0] if found else "", ""
        elif first == "Progress":
            done, _, whole = rest.partition(" of ")
            self._part = f", {float(done) / MEGABYTE:.0f} of {float(whole) / MEGABYTE:.0f} MB"
        elif line.startswith("Building wheel for "):
            self._building = rest.removeprefix("wheel for ").split()[0]
        elif line.startswith("Installing collected packages: "):
            self._installing = True

    def now(self) -> str:
        """What to show."""
        if self._installing:
            return f"installing: {min(self._installed(), self.total)} of {self.total} packages"
        if self._building:
            return f"building {self._building}"
        if not self._name:
            return "starting pip"
        return f"fetching {self._seen} of {self.total} packages: {self._name}{self._part}"


def main(python: str, lock: str) -> int:
    """Update pip, then install what the lock file names; gives pip's exit code."""
    purelib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True).stdout.strip()

    def installed() -> int:
        return sum(1 for _ in Path(purelib).glob("*.dist-info"))

    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    total = len(_PINNED.findall(Path(lock).read_text(encoding="utf-8")))
    # `--progress-bar raw` came with pip 24.1
    return (shown("pip", Pip(1, installed), [*pip, "--upgrade", "pip>=24.1"])
            or shown("dependencies", Pip(total, installed),
                     [*pip, "--progress-bar", "raw", "--require-hashes", "-r", lock]))


def shown(what: str, pip: Pip, command: list[str]) -> int:
    """Run pip, with lines about it; if it fails, all that it said."""
    began, ended, said = time.monotonic(), threading.Event(), []
    on_terminal = sys.stdout.isatty()

    def tell(text: str) -> None:
        line = f"{what}: {text} ({time.monotonic() - began:.0f} s)"
        print(f"\r\033[K{line[:100]}" if on_terminal else line, flush=True,
              end="" if on_terminal else "\n")

    def repeat() -> None:
        while not ended.wait(0.5 if on_terminal else EVERY):
            tell(pip.now())

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    for line in process.stdout:
        said.append(line)
        pip.hear(line.rstrip())
    code = process.wait()
    ended.set()
    thread.join()
    tell("done" if code == 0 else "failed")
    if on_terminal:
        print()
    if code:
        sys.stderr.writelines(line for line in said if not line.startswith("Progress "))
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
