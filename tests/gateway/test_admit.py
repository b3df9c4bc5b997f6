"""Cutting bodies into events: neighbours of a bad one are kept, own bytes are kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError
from slackwater.gateway.admit import BadBody, Rules, admit, elements
from slackwater.gateway.config import GatewayConfig, MqttConfig, host_and_port
from slackwater.gateway.mqtt import _with_field
from slackwater.gateway.sizes import bytes_of

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(), lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12)
objects = st.dictionaries(st.text(), values, max_size=5)


@given(st.lists(values, max_size=8), st.sampled_from([None, 1]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_an_array_is_cut_where_json_would_cut_it(array, indent, ascii_only):
    texts = [json.dumps(v, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
             for v in array]
    body = b"[ " + b" ,\n".join(texts) + b"]"
    assert list(elements(body)) == texts


BAD = [b'{"v":NaN}', b'{"v":-Infinity}', b'{"v":1e999}', b'{"s":"\xff\xfe"}', b'{"s":"\0"}',
       b'{"s":"\\ud800"}', b'{"a":1,}', b"{'a':1}", b'{"a":01}', b'{"a" 1}', b"3", b"null",
       b'"text"', b"[1,2]", b"true", b'{"a":' * 2000 + b"1" + b"}" * 2000, b"{a}", b"nonsense"]
GOOD = [b'{"n":123456789012345678901234567890}', b'{"a":1,"a":2}', b'{"s":"\\u0000"}', b"{}",
        '{"ключ":"значение"}'.encode(), b'{"d":' * 500 + b"1" + b"}" * 500, b'{ "a" :\t1 }']


@pytest.mark.parametrize("bad", BAD, ids=lambda b: repr(b[:20]))
def test_a_bad_event_does_not_take_its_neighbours_along(bad):
    found = admit(b'[{"n":1},' + bad + b',{"n":2}]', Rules())
    assert found.events == [b'{"n":1}', b'{"n":2}']
    assert [index for index, _ in found.refused] == [1]
    assert found.refused[0][1]
    assert admit(b'{"n":1}\r\n' + bad + b'\n\n{"n":2}', Rules(), lines=True).events == found.events


@pytest.mark.parametrize("good", GOOD, ids=lambda b: repr(b[:20]))
def test_an_event_keeps_its_own_bytes(good):
    assert admit(good, Rules()).events == [good]
    assert admit(b"[" + good + b" ]", Rules()).events == [good]
    assert admit(b"\n" + good + b"\r\n", Rules(), lines=True).events == [good]


@pytest.mark.parametrize("body", [b"", b"  ", b"[", b"[{}", b"[{},]", b"[,{}]", b"[{}]x", b'["a]',
                                  b"[{}}]", b"[" * 5000, b"[{}]]"])
def test_a_body_that_cannot_be_cut_is_refused_as_a_whole(body):
    with pytest.raises(BadBody):
        admit(body, Rules())


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_answered(body):
    for lines in (False, True):
        try:
            found = admit(body, Rules(max_event=50, required=("t",)), lines=lines)
        except BadBody:
            continue
        assert all(json.loads(e).get("t") is not None for e in found.events)


def test_required_fields_and_sizes():
    rules = Rules(max_event=30, required=("time",))
    assert rules.refusal(b'{"time":5}') is None
    assert rules.refusal(b'{"tim":5}') == "the field 'time' is missing"
    assert rules.refusal(b'{"time":null}') == "the field 'time' is null"
    assert "bytes" in rules.refusal(b'{"time":"' + b"x" * 40 + b'"}')


@given(objects, st.text(min_size=1).filter(lambda t: "\0" not in t))
def test_the_topic_becomes_a_field_that_an_event_cannot_give_itself(event, topic):
    if any(0xD800 <= ord(c) <= 0xDFFF for c in topic):
        return
    text = json.dumps({**event, "_topic": "mine"}).encode()
    assert json.loads(_with_field(text + b" ", "_topic", topic)) == {**event, "_topic": topic}
    assert json.loads(_with_field(b"{ }", "_topic", topic)) == {"_topic": topic}


def test_options_that_cannot_mean_anything(tmp_path):
    for make, message in [
        (lambda: bytes_of("5 Mib"), None), (lambda: bytes_of("5 XB"), "unit of size"),
        (lambda: bytes_of("many"), "not a size"), (lambda: host_and_port("8080"), "address"),
        (lambda: host_and_port("a:99999"), "address"),
        (lambda: MqttConfig("http://x", ("a",)), "broker"),
        (lambda: MqttConfig("mqtt://u:secret@h:x", ("a",)), "broker"),
        (lambda: MqttConfig("mqtt://h", ()), "nothing to subscribe"),
        (lambda: MqttConfig("mqtt://h", ("a/#/b",)), "topic filter"),
        (lambda: MqttConfig("mqtt://h", ("a/b+",)), "topic filter"),
        (lambda: GatewayConfig(tmp_path, host="0.0.0.0"), "everybody"),
        (lambda: GatewayConfig(tmp_path, tls_cert=tmp_path), "key"),
        (lambda: GatewayConfig(tmp_path, tokens=(" ",)), "token is empty"),
        (lambda: GatewayConfig(tmp_path, max_body=0), "size"),
    ]:
        if message is None:
            assert make() == 5 << 20
            continue
        with pytest.raises(ConfigError, match=message) as caught:
            make()
        assert "secret" not in str(caught.value)
    config = MqttConfig("mqtts://u:p%40w@host", ("a/+/b/#",))
    assert (config.host, config.port, config.user) == ("host", 8883, ("u", "p@w"))
    assert "p%40w" not in repr(config) + config.shown
