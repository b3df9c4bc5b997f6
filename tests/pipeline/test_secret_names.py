"""Secrets known by their names, wherever a name stands."""

from __future__ import annotations

import pytest

from slackwater.pipeline.connectors import KafkaSource
from slackwater.pipeline.option import is_secret_name
from slackwater.pipeline.secrets import Secrets, credentials, hide_credentials

SECRET = ["password", "kafka.ssl.key.password", "DB_PASS", "pass", "db.pass", "pwd", "PGPWD_PWD",
          "user_pwd", "api_key", "api-key", "apiKey", "API_KEY", "x.apikey", "access.key",
          "fs.s3a.access.key", "accessKey", "AWS_SECRET_ACCESS_KEY", "credential",
          "credentials.json", "sasl.jaas.config", "private_key", "passphrase", "auth.token", "pw",
          "X-Amz-Signature", "sig"]
PLAIN = ["kafka.client.id", "compass", "bypass_mode", "passenger", "keyspace", "primary.key",
         "group.id", "pwdless", "monkey", "spark.sql.shuffle.partitions", "topic",
         "signal", "design"]


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_known_by_its_name(name):
    assert is_secret_name(name)
    assert "hunter2" not in hide_credentials(f"host=db {name}=hunter2 user=me")
    assert "hunter2" in list(credentials(f"jdbc:x://db/y?{name}=hunter2&z=1"))
    source = KafkaSource("host:9092", ("t",), columns={"a": "int"}, options={name: "hunter2"})
    assert "hunter2" not in repr(source)


@pytest.mark.parametrize("name", PLAIN)
def test_other_names_are_shown(name):
    assert not is_secret_name(name)
    assert f"{name}=shown" in hide_credentials(f"host=db {name}=shown")


def test_quoted_values_are_hidden_whole():
    text = "jaas: required username=\"me\" password=\"two words\"; api_key='a b'"
    assert Secrets().redact(text) == "jaas: required username=\"me\" password=***; api_key=***"
    assert list(credentials(text)) == ["two words", "a b"]


@pytest.mark.parametrize("text", [
    '{"password": "hunter2 and more"}', "{'api_key': 'hunter2'}", "(password=hunter2)",
    "'password=hunter2'", "a=1,password=hunter2", "Authorization: Bearer hunter2.hunter2",
    "jdbc:postgresql://me:hunter2@db/x", "redis://:hunter2@h"])
def test_a_secret_is_hidden_however_it_is_wrapped(text):
    assert "hunter2" not in hide_credentials(text)
    assert any("hunter2" in found for found in credentials(text))


def test_what_lies_deeper_in_a_setting_is_hidden_too():
    source = KafkaSource("host:9092", ("t",), columns={"a": "int"}, options={
        "registry.url": "https://me:hunter2@registry/x",
        "more": {"pwd": "hunter2", "hosts": ["nats://u:hunter2@h"], "topic": "shown"}})
    assert "hunter2" not in repr(source)
    assert "shown" in repr(source)
