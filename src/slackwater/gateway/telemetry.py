"""The gateway's counts for OpenTelemetry, sent by OTLP over HTTP.

Where they go, how often and with which headers is said by OpenTelemetry's own environment
variables: ``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_METRIC_EXPORT_INTERVAL`` and so on.  Its library
is the extra ``slackwater[otel]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from slackwater import __version__
from slackwater.core.errors import ConfigError
from slackwater.gateway.metrics import PREFIX, Family

__all__ = ["Telemetry"]

_LAST_SECONDS = 3


class Telemetry:
    """Sends what the gateway counts, from a thread of OpenTelemetry's.

    Parameters
    ----------
    families
        Gives the counts as they are now.

    Raises
    ------
    ConfigError
        If the library is not installed.
    """

    def __init__(self, families: Callable[[], Iterable[Family]]) -> None:
        try:
            sdk = import_module("opentelemetry.sdk.metrics")
            export = import_module("opentelemetry.sdk.metrics.export")
            resources = import_module("opentelemetry.sdk.resources")
            otlp = import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
            self._observation = import_module("opentelemetry.metrics").Observation
        except ImportError as missing:
            raise ConfigError(f"sending metrics needs {missing.name}, which is not installed",
                              step="otel", hint='pip install "slackwater[otel]"') from missing
        self._families = families
        reader = export.PeriodicExportingMetricReader(otlp.OTLPMetricExporter())
        named = resources.Resource({"service.name": "slackwater-gateway",
                                    "service.version": __version__})
        # what the environment says of the service comes last
        named = named.merge(resources.OTELResourceDetector().detect())
        self._provider = sdk.MeterProvider([reader], resource=named)
        meter = self._provider.get_meter("slackwater.gateway", __version__)
        for family in families():
            make = meter.create_observable_counter if family.counts \
                else meter.create_observable_gauge
            make(PREFIX + family.name, [self._observer(family.name)], description=family.text)

    def _observer(self, name: str) -> Callable[[Any], list[Any]]:
        def observe(_: Any) -> list[Any]:
            return [self._observation(number, {family.label: value} if family.label else {})
                    for family in self._families() if family.name == name
                    for value, number in family.values.items()]

        return observe

    def close(self) -> None:
        """Send the last counts, if that does not take long."""
        self._provider.shutdown(timeout_millis=_LAST_SECONDS * 1000)
