"""Sessions of a local Spark."""


def session():
    """Two threads, the store that keyed models need, and little beside."""
    from pyspark.sql import SparkSession

    from forks.compat.spark.keyed import STATE_STORE

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        **STATE_STORE,
    }
    made = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made
