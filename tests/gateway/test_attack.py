"""The attacks in a small form; `python tests/gateway/attack.py` runs them for longer.

That command also holds the good client to half of its undisturbed rate.  Here other tests may run
at the same time, so it only has to get on.
"""

from __future__ import annotations

from tests.gateway.attack import run


def test_a_gateway_under_attack(tmp_path):
    results = run(tmp_path, seconds=0.8, connections=1500, compare=False)
    assert len(results) >= 11
    assert not [fault for seen in results for fault in seen.faults(rate=0.05)]


def test_a_gateway_with_tls_under_attack(tmp_path):
    results = run(tmp_path / "tls", seconds=1, mqtt=False, tls=True, compare=False)
    assert len(results) == 2
    assert not [fault for seen in results for fault in seen.faults(rate=0.05)]
