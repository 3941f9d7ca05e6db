"""A query that learns a keyed stream of files. Run as a script: FOLDER.

The folder has `model.forks` and files of rows in `rows`; it gets `answers` and `checkpoint`. A
query that has been killed goes on. Prints the seconds and the rows of each batch as JSON.
"""

import json
import sys
from pathlib import Path

from spark_sessions import session

from forks.compat.spark import learn_keyed
from forks.keyed import load

SCHEMA = "id long, key string, x array<double>, y double"


def play(spark, folder):
    """Learn all files, one a batch; return Spark's progress."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = rows.option("latestFirst", "false").parquet(str(folder / "rows"))
    model = load(folder / "model.forks")
    answers = learn_keyed(rows, model, key="key", features="x", label="y", order="id", keep=["id"])
    query = (
        answers.writeStream.format("parquet")
        .option("path", str(folder / "answers"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query.recentProgress


if __name__ == "__main__":
    spark = session()
    batches = play(spark, Path(sys.argv[1]))
    told = [(batch["numInputRows"], batch["durationMs"]["triggerExecution"]) for batch in batches]
    print(json.dumps(told))
    spark.stop()
