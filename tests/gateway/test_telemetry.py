"""Counts by OpenTelemetry, received by a collector of this test's own."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from slackwater.core.errors import ConfigError
from slackwater.gateway.metrics import Family, prometheus
from tests.gateway.running import Running


def test_metrics_as_text():
    text = prometheus([Family("seen", "What was seen.", True, {"a": 1, "b": 2.5}, "way"),
                       Family("now", "How it is.", False, {"": 0})])
    assert text == (
        "# HELP slackwater_gateway_seen_total What was seen.\n"
        "# TYPE slackwater_gateway_seen_total counter\n"
        'slackwater_gateway_seen_total{way="a"} 1\nslackwater_gateway_seen_total{way="b"} 2.5\n'
        "# HELP slackwater_gateway_now How it is.\n# TYPE slackwater_gateway_now gauge\n"
        "slackwater_gateway_now 0\n")


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    from slackwater.gateway import telemetry

    def missing(name):
        raise ImportError(name=name)

    monkeypatch.setattr(telemetry, "import_module", missing)
    with pytest.raises(ConfigError, match=r"slackwater\[otel\]"):
        telemetry.Telemetry(list)


class Collector(BaseHTTPRequestHandler):
    received: list[bytes]

    def do_POST(self):
        self.received.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_counts_reach_a_collector(tmp_path):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

    Collector.received = []
    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
               "OTEL_METRIC_EXPORT_INTERVAL": "200", "OTEL_SERVICE_NAME": "door-7",
               "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        with Running(tmp_path / "log", "--otel", env=env) as gateway:
            assert gateway.post(b"[{},{},1]").status_code == 207
            until = time.monotonic() + 20
            while True:
                values, names = {}, set()
                for data in list(Collector.received):
                    request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(data)
                    for resource in request.resource_metrics:
                        names |= {a.value.string_value for a in resource.resource.attributes
                                  if a.key == "service.name"}
                        for metric in resource.scope_metrics[0].metrics:
                            points = metric.sum.data_points or metric.gauge.data_points
                            for point in points:
                                labels = tuple(a.value.string_value for a in point.attributes)
                                values[metric.name, labels] = point.as_int or point.as_double
                if values.get(("slackwater_gateway_accepted_events", ("http",))) == 2:
                    break
                assert time.monotonic() < until, values
                time.sleep(0.1)
            assert values["slackwater_gateway_refused_events", ("http",)] == 1
            assert values["slackwater_gateway_log_end_record", ()] == 2
            assert names == {"door-7"}
        assert gateway.errors == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
