"""Sources, and SQL over them, as DataFrames; and SQL over what steps have made, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.errors import ConfigError
from slackwater.core.names import ARRIVAL
from slackwater.pipeline.document import Pipeline, Query
from slackwater.pipeline.sql_streams import with_quoted_streams
from slackwater.pipeline.steps import Step
from slackwater.spark.runner.position import POSITION
from slackwater.spark.sources import read_source

__all__ = ["Tables", "run_sql"]

Watch = Callable[[str, DataFrame], DataFrame]


class Tables:
    """The nodes of a query that no step of ours has made.

    Parameters
    ----------
    session, pipeline, query
        Where, and what.
    watch
        Given a node's name and rows, the rows with their numbers observed.
    """

    def __init__(self, session: SparkSession, pipeline: Pipeline, query: Query,
                 watch: Watch) -> None:
        self._session, self._pipeline = session, pipeline
        self.of: dict[str, DataFrame] = {}
        self._placed: dict[str, DataFrame] = {}
        for node in query.nodes:
            if node in pipeline.sources:
                found = watch(node, read_source(session, pipeline.sources[node].config,
                                                placed=True))
                self._placed[node], self.of[node] = found, found.drop(POSITION)
            elif self._is_outside(pipeline.steps[node]):
                self.of[node] = watch(node, self._sql(pipeline.steps[node]))

    def _is_outside(self, step: Step) -> bool:
        return step.kind == "sql" and all(stream.node in self.of for stream in step.inputs)

    def _sql(self, step: Step) -> DataFrame:
        return run_sql(self._session, step, {str(s): self.of[s.node] for s in step.inputs})

    def fed(self, node: str) -> DataFrame:
        """A node's rows as steps take them: with the time at which they came, and their place."""
        df = self._placed.get(node, self.of[node])
        if ARRIVAL in df.columns:
            return df
        # the moment of the micro-batch: it is in the offset log, so that a replay repeats it
        return df.withColumn(ARRIVAL, F.current_timestamp())


def run_sql(session: SparkSession, step: Step, streams: Mapping[str, DataFrame]) -> DataFrame:
    """Spark's SQL over streams, which are its views."""
    watermark = step.options.get("watermark")
    for name, df in streams.items():
        if watermark is not None and watermark in df.columns and df.isStreaming:
            df = df.withWatermark(watermark, "1 millisecond")  # as with_watermark does
        df.createOrReplaceTempView(f"`{name}`")
    try:
        return session.sql(with_quoted_streams(step.text or ""))
    except (AnalysisException, ParseException) as error:
        raise ConfigError(f"Spark does not take the SQL of this step: {_short(error)}",
                          step=f"steps.{step.name}.sql", got=step.text) from None


def _short(error: Exception) -> str:
    text = str(error).split("JVM stacktrace:")[0]
    return text.split(";\n'")[0].strip()
