"""Spark's Kafka connector and Avro functions are archives of their own: say so where they lack."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from pyspark import __version__

from slackwater.core.errors import ConfigError

__all__ = ["needs_classes"]

_CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{__version__}"
_AVRO = f"org.apache.spark:spark-avro_2.13:{__version__}"
# what Spark says of a class that is not there: by name (classic, Connect), or as py4j finds it
_SIGNS = ("Failed to find data source: kafka", "DATA_SOURCE_NOT_FOUND", "ClassNotFound",
          "NoClassDefFound", "AVRO_NOT_LOADED", "'JavaPackage' object is not callable",
          "UNRESOLVED_ROUTINE")


@contextmanager
def needs_classes(step: str, *, avro: bool = False) -> Iterator[None]:
    """Turn what Spark says of a missing class into what to do about it."""
    what, archive = ("Avro functions", _AVRO) if avro else ("Kafka connector", _CONNECTOR)
    try:
        # pyspark prints a page of advice on Avro's archive, for spark-submit
        with redirect_stdout(io.StringIO()):
            yield
    except Exception as error:  # of several kinds: pyspark's, py4j's, a TypeError
        if not any(sign in str(error) for sign in _SIGNS):
            raise
        raise ConfigError(
            f"Spark's {what} is not on Spark's class path" if not avro else
            f"Spark's {what} are not on Spark's class path", step=step,
            expected=archive,
            hint=f'spark: {{spark.jars.packages: "{archive}"}}, or, where Spark has no network, '
                 "spark.jars: with the paths of that archive and those it needs",
        ) from None
