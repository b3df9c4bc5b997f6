"""MQTT in front of the store: a message is acknowledged to the broker once it is kept.

The session is persistent and acknowledgement is by hand (QoS 1), so the broker keeps what is not
acknowledged and delivers it again after a break.  Under back-pressure messages wait here, without
acknowledgement; the broker stops sending once its window of unacknowledged messages is full.

A message that can never be an event is put aside as a dead letter and acknowledged: delivered again
it would be no better.

A message that was made durable, but whose acknowledgement got lost, comes a second time, marked as
such.  Its number at the broker is kept with its records as a tag, and the log's tail is remembered:
a repeated message with the number and bytes of a recent one is acknowledged and not written again.
Brokers give numbers in turn, so within so few messages none comes back for another one.

A retained message is sent again after every subscription.  In a session that goes on, its bytes
tell that it is known.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from slackwater.core.errors import ConfigError
from slackwater.gateway.admit import BadBody, TooMany
from slackwater.gateway.check import Checker, Unchecked
from slackwater.gateway.config import MqttConfig
from slackwater.gateway.letters import dead_letter, digest, recent, tags_of
from slackwater.gateway.letters import with_field as _with_field
from slackwater.gateway.log import Log
from slackwater.gateway.metrics import Tally
from slackwater.gateway.mqtt_client import BoundedClient
from slackwater.gateway.store import Appended, Backlogged, LogFailed, Store, Unkeepable

__all__ = ["Bridge"]

_log = logging.getLogger("slackwater.gateway")
REMEMBERED = 10_000
_WAITING_UNASKED, _WAITING_BYTES = 10_000, 32 << 20
_RETRY_SECONDS = 0.25


@dataclass
class _Message:
    """A message on its way: first its bad events are put aside, then its good ones appended."""

    number: int
    qos: int
    session: int
    events: list[bytes]
    dead: list[bytes]
    topic: str = ""
    key: tuple[int, bytes] | None = None  # what it is known by when it is delivered again
    again: bool = False  # it may have been kept before

    @property
    def size(self) -> int:
        """About how much memory it takes."""
        return sum(map(len, self.events)) + 100 * len(self.events) + sum(map(len, self.dead))


class Bridge:
    """Takes messages from a broker into a log.

    Parameters
    ----------
    config
        The broker and the topics.
    store, dead
        For events, and for messages that are none.
    checker
        Looks at payloads.
    largest
        Bytes of a payload.
    tally
        What it counts into.
    """

    def __init__(self, config: MqttConfig, store: Store, dead: Log, checker: Checker, largest: int,
                 tally: Tally) -> None:
        self._config, self._store, self._dead = config, store, dead
        self._checker, self._largest, self._tally = checker, largest, tally
        tally.mqtt_connected = False
        self._seen: deque[tuple[int, bytes]] = deque(maxlen=REMEMBERED)
        self._seen_set: set[tuple[int, bytes] | None] = set()
        self._waiting: deque[_Message] = deque()
        self._waiting_bytes = 0
        self._held: set[tuple[int, bytes] | None] = set()  # taken, not yet acknowledged
        self._writing = 0
        self._session = 0
        self._resumed = self._asked = False  # the session goes on; this process has subscribed
        self._wake = threading.Condition()
        self._stopped = False
        self._client = self._make_client()
        self._retrier = threading.Thread(target=self._retry, name="gateway-mqtt", daemon=True)

    def _make_client(self) -> BoundedClient:
        config = self._config
        client = BoundedClient(CallbackAPIVersion.VERSION2, client_id=config.client_id,
                               clean_session=False, manual_ack=True, largest=self._largest)
        client.suppress_exceptions = True  # a mistake must not end its thread
        if config.user is not None:
            client.username_pw_set(*config.user)
        if config.tls:
            try:
                client.tls_set(None if config.ca_file is None else str(config.ca_file))
            except OSError as error:
                raise ConfigError("the certificates cannot be read", step="mqtt-ca",
                                  got=f"{config.ca_file}: {error}") from error
        client.reconnect_delay_set(1, 30)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_subscribe = self._subscribed
        client.on_message = self._arrived
        return client

    def start(self) -> None:
        """Connect, and keep trying: a broker that is down is waited for."""
        if isinstance(self._store, Log):
            self._seen.extend(recent(self._store, REMEMBERED))
            self._seen_set.update(self._seen)
        self._retrier.start()
        self._client.connect_async(self._config.host, self._config.port, keepalive=30)
        self._client.loop_start()

    def stop(self) -> None:
        """Leave the broker; what is not acknowledged stays with it."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        self._retrier.join()
        with self._wake:
            self._wake.wait_for(lambda: not self._writing, timeout=5)
        self._client.disconnect()
        self._client.loop_stop()

    # -- called by paho's thread -----------------------------------------------------------------

    def _connected(self, client: paho.Client, _: Any, flags: Any, reason: Any,
                   properties: Any) -> None:
        if reason.is_failure:
            _log.error("%s: the broker refuses: %s", self._config.shown, reason)
            return
        if not flags.session_present:
            # a new session counts anew: its numbers must not be acknowledged for older messages
            self._session += 1
        self._resumed = flags.session_present
        if self._resumed and self._asked:  # the subscription goes on as well
            self._tally.mqtt_connected = True
            return
        client.subscribe([(topic, 1) for topic in self._config.topics])

    def _subscribed(self, client: paho.Client, _: Any, number: int, reasons: Any,
                    properties: Any) -> None:
        for topic, reason in zip(self._config.topics, reasons, strict=False):
            if reason.is_failure:
                _log.error("%s: the broker refuses the topic %s: %s", self._config.shown, topic,
                           reason)
        # only now: what is published before a first subscription is for nobody
        self._asked = not any(reason.is_failure for reason in reasons)
        self._tally.mqtt_connected = self._asked

    def _disconnected(self, client: paho.Client, _: Any, flags: Any, reason: Any,
                      properties: Any) -> None:
        self._tally.mqtt_connected = False
        if not self._stopped:
            _log.warning("%s: connection lost: %s", self._config.shown, reason)

    def _arrived(self, client: paho.Client, _: Any, message: paho.MQTTMessage) -> None:
        taken = self._sort(message)
        with self._wake:
            # reading on would fill the memory; the broker waits when it cannot send
            self._wake.wait_for(lambda: self._waiting_bytes < _WAITING_BYTES or self._stopped
                                or not message.qos)
            if message.dup and taken.key in self._held:
                return  # it is here, and will be acknowledged when it is durable
            if (message.dup and taken.key in self._seen_set) or (
                    message.retain and self._resumed and self._knows(taken.events)):
                self._tally.redelivered += 1
                client.ack(message.mid, message.qos)
                return
            if taken.key is not None:
                self._held.add(taken.key)
            if self._waiting:
                self._wait(taken)  # behind those that came before it
                return
        self._offer(taken)

    def _knows(self, events: list[bytes]) -> bool:
        """Whether a recent message had the same events, whatever its number."""
        known = digest(events)
        return any(key is not None and key[1] == known
                   for key in chain(self._held, self._seen_set))

    # -- the way of a message --------------------------------------------------------------------

    def _sort(self, message: paho.MQTTMessage) -> _Message:
        """Cut a message into events and dead letters; never raises, whatever it holds."""
        payload = bytes(message.payload)
        taken = _Message(message.mid, message.qos, self._session, [], [], again=message.dup)
        try:
            topic = taken.topic = message.topic
        except UnicodeDecodeError:
            return self._put_aside(taken, "", payload, "its topic is not UTF-8")
        size = self._client.cut or len(payload)
        if size > self._largest:
            return self._put_aside(taken, topic, payload,
                                   f"the message has {size} bytes; at most {self._largest} are "
                                   "taken")
        try:
            found = self._checker.check(payload)
            name = self._config.topic_field
            events = list(found.events)
            if name is not None:
                events = [_with_field(event, name, topic) for event in events]
        except (BadBody, TooMany, Unchecked) as error:  # a poisonous one must not come for ever
            return self._put_aside(taken, topic, payload, str(error))
        except Exception as error:  # it must not come again and again
            _log.exception("%s: a message of %d bytes", self._config.shown, len(payload))
            return self._put_aside(taken, topic, payload, f"it could not be read: {error!r}")
        if found.refused_count:
            reasons = "; ".join(f"event {n}: {why}" for n, why in found.refused[:10])
            self._put_aside(taken, topic, payload, reasons, found.refused_count)
        taken.events = events
        if taken.qos and events:
            taken.key = taken.number, digest(events)
        return taken

    def _put_aside(self, taken: _Message, topic: str, payload: bytes, reason: str, count: int = 1
                   ) -> _Message:
        self._tally.refused["mqtt"] += count
        taken.dead = [dead_letter(topic, payload, reason)]
        return taken

    def _offer(self, message: _Message) -> bool:
        """Append, and acknowledge when durable; False if it must wait."""
        try:
            if message.dead:
                # waited for, so that the two logs never both have to be undone
                self._dead.append(message.dead).result()
                self._tally.dead_letters += 1
                message.dead = []
            if not message.events:
                with self._wake:
                    self._held.discard(message.key)
                self._acknowledge(message)
                return True
            future = self._store.append(message.events, tags_of(
                message.number, len(message.events), again=message.again))
            message.again = True
        except (Backlogged, LogFailed):
            with self._wake:
                self._wait(message, first=True)
            return False

        with self._wake:
            self._writing += 1
        future.add_done_callback(lambda future: self._written(message, future))
        return True

    def _written(self, message: _Message, future: Future[Appended]) -> None:
        problem = future.exception()
        durable = problem is None
        with self._wake:
            if durable:
                self._remember(message)
            else:
                if isinstance(problem, Unkeepable):  # what comes again is no better
                    self._put_aside(message, message.topic, b"\n".join(message.events),
                                    problem.problem)
                    message.events = []
                self._wait(message)
        if durable:
            self._tally.accepted["mqtt"] += len(message.events)
            self._acknowledge(message)
        with self._wake:
            self._writing -= 1
            self._wake.notify_all()

    def _acknowledge(self, message: _Message) -> None:
        if message.qos and message.session == self._session:
            self._client.ack(message.number, message.qos)

    def _remember(self, message: _Message) -> None:
        if message.key is None:
            return
        if len(self._seen) == REMEMBERED:
            self._seen_set.discard(self._seen[0])
        self._seen.append(message.key)
        self._seen_set.add(message.key)
        self._held.discard(message.key)

    def _wait(self, message: _Message, *, first: bool = False) -> None:
        if message.qos == 0 and (len(self._waiting) >= _WAITING_UNASKED
                                 or self._waiting_bytes >= _WAITING_BYTES):
            self._tally.dropped += 1  # nobody keeps a QoS 0 message; its sender chose so
            return
        (self._waiting.appendleft if first else self._waiting.append)(message)
        self._waiting_bytes += message.size
        self._wake.notify_all()

    def _retry(self) -> None:
        while True:
            with self._wake:
                self._wake.wait(_RETRY_SECONDS)
                if self._stopped:
                    return
                if self._store.refusing is not None or self._dead.refusing is not None:
                    continue
                number = len(self._waiting)
            for _ in range(number):
                with self._wake:
                    if not self._waiting or self._stopped:
                        break
                    message = self._waiting.popleft()
                    self._waiting_bytes -= message.size
                    self._wake.notify_all()
                if not self._offer(message):
                    break
