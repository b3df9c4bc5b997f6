"""Messages that a broker delivers again, of any length, to a gateway that was restarted or not."""

from __future__ import annotations

import time

import paho.mqtt.client as paho
import pytest

from slackwater.gateway import Limits, Log
from slackwater.gateway.admit import Rules
from slackwater.gateway.check import Checker
from slackwater.gateway.config import MqttConfig
from slackwater.gateway.letters import digest, recent, tags_of
from slackwater.gateway.metrics import Tally
from slackwater.gateway.mqtt import Bridge
from tests.gateway.test_mqtt_gateway import stored

PLAIN = Limits(min_free=0)


def message(number, payload, *, dup=False, qos=1):
    made = paho.MQTTMessage(number, b"a/b")
    made.payload, made.dup, made.qos = payload, dup, qos
    return made


class Gateway:
    """A bridge on a log, given messages as its client would; its broker is never there."""

    def __init__(self, folder, rules=None):
        self.log, self.dead = Log(folder, PLAIN), Log(folder / "dead-letters", PLAIN)
        self.checker, self.tally = Checker(rules or Rules(), 100_000), Tally()
        self.bridge = Bridge(MqttConfig("mqtt://127.0.0.1:1", ("a/#",), topic_field=None),
                             self.log, self.dead, self.checker, 8 << 20, self.tally)
        self.bridge.start()

    def take(self, *arguments, **more):
        self.bridge._arrived(self.bridge._client, None, message(*arguments, **more))

    def settled(self, records):
        until = time.monotonic() + 20
        while self.log.end.record < records or self.bridge._writing:
            assert time.monotonic() < until, f"{self.log.end.record} of {records}"
            time.sleep(0.01)
        assert self.log.end.record == records

    def close(self):
        self.bridge.stop()
        for part in (self.checker, self.log, self.dead):
            part.close()


@pytest.mark.parametrize("restart", [False, True])
def test_a_message_of_many_events_is_known_when_it_comes_again(tmp_path, restart):
    many = b"[" + b",".join(b'{"n":%d}' % n for n in range(25_000)) + b"]"
    gateway = Gateway(tmp_path)
    gateway.take(5, many)
    gateway.take(6, b'[{"a":1},{"a":1}]')
    gateway.settled(25_002)
    if restart:
        gateway.close()
        gateway = Gateway(tmp_path)
    gateway.take(5, many, dup=True)
    gateway.take(6, b'[{"a":1},{"a":1}]', dup=True)
    assert gateway.tally.redelivered == 2
    gateway.take(6, b'[{"a":1},{"a":1}]')  # not marked: another message
    gateway.take(7, b'{"a":1}', dup=True)  # marked, but nobody here has seen it
    gateway.settled(25_005)
    gateway.close()


def test_a_message_with_nul_becomes_a_dead_letter_where_it_is_refused(tmp_path):
    gateway = Gateway(tmp_path, Rules(refuse_nul=True))
    gateway.take(1, rb'{"a":"x\u0000"}')
    gateway.take(2, rb'{"a":"x\\u0000"}')  # a backslash and five letters
    gateway.settled(1)
    gateway.close()
    (letter,) = stored(tmp_path / "dead-letters")
    assert letter["payload"] == r'{"a":"x\u0000"}'
    assert "U+0000" in letter["reason"]


def test_messages_with_the_same_number_in_a_row_are_told_apart(tmp_path):
    with Log(tmp_path, PLAIN) as log:
        for events in ([b'{"a":1}'], [b'{"a":1}', b'{"b":2}'], [b'{"c":3}']):
            log.append(events, tags_of(1, len(events))).result(10)
        log.append([b'{"http":1}']).result(10)
        log.append([b'{"old":1}', b'{"old":2}'], [9, 9]).result(10)  # as older versions wrote them
        found = recent(log, 100)
    assert found == [(1, digest([b'{"a":1}'])), (1, digest([b'{"a":1}', b'{"b":2}'])),
                     (1, digest([b'{"c":3}'])), (9, digest([b'{"old":1}', b'{"old":2}']))]
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])
