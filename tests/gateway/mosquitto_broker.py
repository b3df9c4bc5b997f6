"""A mosquitto for the tests: the system's, or Debian's packages unpacked into a cache folder."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "mosquitto"
PACKAGES = ["mosquitto", "libmosquitto1", "libcjson1", "libdlt2", "libwrap0", "libwebsockets17"]


def find_mosquitto() -> tuple[Path, dict[str, str]] | None:
    """The program and the environment that it needs, or None where it cannot be had."""
    system = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if system:
        return Path(system), {}
    program = CACHE / "root" / "usr" / "sbin" / "mosquitto"
    if not program.exists() and not _unpacked():
        return None
    libraries = CACHE / "root" / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    env = {"LD_LIBRARY_PATH": str(libraries)}
    works = subprocess.run([program, "-h"], env=env, capture_output=True, text=True, timeout=20)
    return (program, env) if "mosquitto version" in works.stdout else None


def _unpacked() -> bool:
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return False
    CACHE.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:  # one by one: other releases have other libraries
        subprocess.run(["apt-get", "download", package], cwd=CACHE, capture_output=True,
                       timeout=120)
    for file in CACHE.glob("*.deb"):
        subprocess.run(["dpkg", "-x", file, CACHE / "root"], capture_output=True, timeout=60)
    return (CACHE / "root" / "usr" / "sbin" / "mosquitto").exists()


class Broker:
    """On a port of its own, with its sessions in a file, so that it can be killed and come back."""

    def __init__(self, folder: Path, *settings: str) -> None:
        found = find_mosquitto()
        assert found is not None, "ask find_mosquitto first"
        self._program, self._env = found
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._config = folder / "mosquitto.conf"
        owner = "user root\n" if os.getuid() == 0 else ""
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
            f"persistence_location {folder}/\nautosave_interval 1\nautosave_on_changes true\n"
            f"{owner}" + "\n".join(settings) + "\n")
        self._log = folder / "mosquitto.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen([self._program, "-c", self._config], stdout=log,
                                            stderr=log, env={**os.environ, **self._env})
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, self._log.read_text()
                assert time.monotonic() < until, "mosquitto does not answer"
                time.sleep(0.05)

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=20)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
