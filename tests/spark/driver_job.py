"""A streaming job in a process of its own, to be killed: files → reorder → Parquet."""

from __future__ import annotations

import sys
from pathlib import Path


def main(folder: Path) -> None:
    from slackwater.spark import local_session, reorder

    spark = local_session("slackwater-kill", cores=2)
    files = str(folder / "in")
    df = (spark.readStream.schema(spark.read.parquet(files).schema)
          .option("maxFilesPerTrigger", 1).parquet(files))
    out = reorder(df, "KSlack(initial=100ms)", arrival="arrival", by="key")
    query = (out.writeStream.format("parquet").option("path", str(folder / "out"))
             .option("checkpointLocation", str(folder / "checkpoint"))
             .trigger(availableNow=True).start())
    query.awaitTermination()
    (folder / "done").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
