"""The gateway as a user starts it, on a port that it keeps over restarts."""

from __future__ import annotations

import itertools
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from parts.nats_server import NatsServer
from parts.server import Server, free_port

COMMAND = [sys.executable, "-c", "from slackwater.cli import main; main()"]


class GatewayServer(Server):
    """`log_folder` is what the pipeline reads."""

    def __init__(self, folder: Path, forward: str | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.log_folder = folder / "log"
        where = ["--forward", forward] if forward else ["--log", str(self.log_folder)]
        super().__init__(
            "the gateway", [*COMMAND, "gateway", *where, "--http", f"127.0.0.1:{port}"],
            folder / "gateway.log", port=port)
        self.address = f"http://127.0.0.1:{port}"

    def send(self, values: Sequence[bytes], patience: float = 60) -> int:
        """Post lines of JSON until they are acknowledged, through deaths; how often it took.

        A death between the disk and the answer makes a copy: the sender cannot know.
        """
        request = urllib.request.Request(
            f"{self.address}/events", data=b"\n".join(values) + b"\n", method="POST",
            headers={"content-type": "application/x-ndjson"})
        until = time.monotonic() + patience
        for attempt in itertools.count(1):
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    answer.read()
                return attempt
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
            except OSError:
                pass
            if time.monotonic() > until:
                raise TimeoutError(f"not acknowledged in {patience:.0f} s")
            time.sleep(0.1)
        raise AssertionError("there is no last attempt")


class ForwardingGateway:
    """A gateway and the broker that it forwards to; they die and come back together."""

    def __init__(self, broker: NatsServer, gateway: GatewayServer) -> None:
        self.broker, self.gateway = broker, gateway

    def start(self) -> None:
        """The broker first: the gateway asks for it when it starts."""
        self.broker.start()
        self.gateway.start()

    def kill(self) -> None:
        """SIGKILL for both."""
        self.gateway.kill()
        self.broker.kill()

    def stop(self) -> None:
        """Ask both to end."""
        self.gateway.stop()
        self.broker.stop()
