"""Kafka: idempotent, acknowledged by all replicas that are in sync."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qs

import orjson
from confluent_kafka import KafkaError, KafkaException, Producer

from slackwater.core.errors import ConfigError
from slackwater.gateway.clock import Clock
from slackwater.gateway.forward.base import Done, Forward, largest_event

__all__ = ["KafkaForward"]

_log = logging.getLogger("slackwater.gateway")
_CLOSE_SECONDS = 30
_LARGEST = 1_000_000  # of a message, unless its client is told otherwise
_FOR_GOOD = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD)


class KafkaForward(Forward):
    """Each event is a record; its timestamp is the arrival.

    Parameters
    ----------
    parts, topic
        The address, taken apart.
    settings
        Further settings of librdkafka.
    shown
        The address without secrets.
    """

    def __init__(self, parts: SplitResult, topic: str, settings: dict[str, str], shown: str
                 ) -> None:
        if parts.username is not None:
            raise ConfigError("a login of Kafka does not stand in the address", step="forward",
                              got=shown, hint="--forward-set sasl.username=NAME --forward-set "
                                              "'sasl.password=$VARIABLE'")
        try:
            largest = int(settings.get("message.max.bytes", _LARGEST))
        except ValueError:
            largest = _LARGEST  # its client says what is wrong with it
        super().__init__(shown, largest_event(largest))
        self._topic, self._clock = topic, Clock()
        self._key = parse_qs(parts.query).get("key", [None])[0]
        self._settings: dict[str, Any] = {
            "bootstrap.servers": parts.netloc,
            # in order and once each, whatever the connection does while this process lives
            "enable.idempotence": True, "acks": "all", "linger.ms": 5,
            "message.timeout.ms": 30_000, "queue.buffering.max.kbytes": 65_536,
            "reconnect.backoff.max.ms": 1000, "log_level": 0,
            "error_cb": self._heard, **settings}
        self._broken = False
        try:
            self._producer = Producer(self._settings)
        except (KafkaException, ValueError) as error:
            raise ConfigError("Kafka's client refuses its settings", step="forward",
                              got=str(error)) from None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="gateway-kafka", daemon=True)
        self._thread.start()

    @property
    def warning(self) -> str | None:
        """That the broker cannot be reached, or the clock jumped; or None."""
        return self._away or self._clock.problem

    def _send(self, events: list[bytes], first: int, tags: Sequence[int] | None,
              done: Done) -> None:
        if self._broken:
            self._renew()
        left = len(events)
        problem: KafkaError | None = None
        lock = threading.Lock()

        def delivered(error: KafkaError | None, _: Any) -> None:
            nonlocal left, problem
            with lock:
                left -= 1
                problem = problem or error
                over = left == 0
            if not over:
                return
            if problem is None:
                done(None)
            else:
                done(f"Kafka: {problem.str()}", for_good=problem.code() in _FOR_GOOD)

        stamp = self._clock.now() // 1000
        for event in events:
            while True:
                try:
                    self._producer.produce(self._topic, event, key=self._key_of(event),
                                           timestamp=stamp, on_delivery=delivered)
                    break
                except BufferError:
                    self._producer.poll(0.05)
                except KafkaException as error:
                    self._broken = self._broken or error.args[0].fatal()
                    delivered(error.args[0], None)
                    break

    def _key_of(self, event: bytes) -> bytes | None:
        if self._key is None:
            return None
        value = orjson.loads(event).get(self._key)
        return value.encode() if isinstance(value, str) else orjson.dumps(value)

    def _renew(self) -> None:
        """Begin anew after an error that its client does not recover from by itself."""
        _log.error("%s: its client failed and is started anew", self.shown)
        self._producer.purge()  # those who wait are told, and send again
        self._producer.flush(1)
        self._broken = False
        self._producer = Producer(self._settings)

    def _heard(self, error: KafkaError) -> None:
        if error.fatal():
            self._broken = True
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._away = "the broker cannot be reached"

    def _poll(self) -> None:
        while not self._stop.is_set():
            self._producer.poll(0.1)

    def _close(self) -> None:
        self._producer.flush(_CLOSE_SECONDS)
        self._stop.set()
        self._thread.join()
