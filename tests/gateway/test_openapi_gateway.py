"""Fuzzed requests, made from the gateway's own description, against a running gateway."""

from __future__ import annotations

import json

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from slackwater.gateway import LogReader
from tests.gateway.running import Running

HEADERS = {"authorization": "Bearer token"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance,
          response_schema_conformance]


def test_fuzzed_requests_get_what_the_description_says(tmp_path):
    log = tmp_path / "log"
    with Running(log, "--token-env", "GATE", "--require", "id", env={"GATE": "token"}) as gateway:
        document = gateway.get("/openapi.json", headers=HEADERS).json()
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=gateway.url)
        statuses: set[int] = set()
        accepted = 0
        for operation in schema.get_all_operations():
            one = operation.ok()
            modes = [schemathesis.GenerationMode.POSITIVE]
            if one.path == "/events":
                modes.append(schemathesis.GenerationMode.NEGATIVE)
            for mode in modes:
                for answer in fuzz(one, mode, 80 if one.path == "/events" else 5):
                    if one.path == "/events":
                        statuses.add(answer.status_code)
                        accepted += answer.json().get("accepted", 0)
        assert {200, 422} <= statuses <= {200, 207, 400, 401, 413, 415, 422}
        assert LogReader(log).end().record == accepted > 0


def fuzz(operation, mode, examples):
    """The answers to requests that schemathesis makes up, each checked against the description."""
    answers = []

    @given(data=st.data())
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    def send(data):
        case = data.draw(operation.as_strategy(generation_mode=mode))
        answer = case.call(headers=HEADERS)
        answers.append(answer)
        case.validate_response(answer, checks=CHECKS)

    send()
    return answers


def test_a_neighbour_of_any_json_value_is_kept(tmp_path):
    values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                          lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v))
    log = tmp_path / "log"
    with Running(log) as gateway:
        sent = 0

        @given(value=values, ascii_only=st.booleans())
        @settings(max_examples=80, deadline=None, database=None,
                  suppress_health_check=list(HealthCheck))
        def send(value, ascii_only):
            nonlocal sent
            text = json.dumps([{"id": sent}, value, {"id": sent + 1}], ensure_ascii=ascii_only)
            answer = gateway.post(text.encode("utf-8", "surrogatepass"))
            assert answer.status_code in (200, 207)
            assert answer.json()["accepted"] + len(answer.json()["refused"]) == 3
            assert all(r["index"] == 1 for r in answer.json()["refused"])
            sent += 2

        send()
    reader = LogReader(log)
    found = [json.loads(r["event"]) for s in reader.spans(reader.first(), reader.end())
             for b in reader.read(s) for r in b.to_pylist()]
    ids = [e["id"] for e in found if set(e) == {"id"} and isinstance(e["id"], int)]
    assert set(range(sent)) <= set(ids)
