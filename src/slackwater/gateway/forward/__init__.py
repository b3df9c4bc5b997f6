"""Events kept at a broker instead of this machine's log, so that a cluster need not share a folder.

Enters: admitted events.  Leaves: records at Kafka or NATS JetStream, and an answer once the broker
has acknowledged every one of them.  Kafka's client is confluent-kafka (``slackwater[kafka]``), that
of NATS is nats-py (``slackwater[jetstream]``).
"""

from __future__ import annotations

from slackwater.gateway.forward.address import open_forward

__all__ = ["open_forward"]
