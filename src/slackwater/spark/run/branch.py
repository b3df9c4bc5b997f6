"""What happens to each micro-batch of a branch: its rows go to the sinks, each batch once."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.pipeline.steps import OUTCOMES, Step
from slackwater.spark.run.streams import for_sink
from slackwater.spark.sinks import Sink

__all__ = ["BatchWriter", "Outlet"]


@dataclass(frozen=True)
class Outlet:
    """A sink and the outcome whose rows it takes."""

    sink: Sink
    outcome: str


@dataclass(frozen=True)
class BatchWriter:
    """For foreachBatch.  It travels to the server with Spark Connect: it holds no session.

    The rows that sinks want are kept while they are written, so that the operators run once; and
    counted, so that a sink hears of no batch without rows.
    """

    step: Step | None
    outlets: tuple[Outlet, ...]

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Write one micro-batch."""
        split = self.step is not None and self.step.has_outcomes
        wanted = sorted({o.outcome for o in self.outlets}) if split else ["ready"]
        if split and len(wanted) < len(OUTCOMES):
            df = df.where(F.col("_status").isin(wanted))
        df = df.persist()
        try:
            counted = df.agg(*[F.count_if(F.col("_status") == o) if split else F.count("*")
                               for o in wanted]).first()
            counts = dict(zip(wanted, counted or (), strict=True))
            for outlet in self.outlets:
                if counts[outlet.outcome]:
                    outlet.sink.write(for_sink(df, self.step, outlet.outcome), batch_id)
        finally:
            df.unpersist()
