"""Loads what the processes of `killable` need, compiled functions too."""

import tempfile
from pathlib import Path

import confluent_kafka  # noqa: F401
import nats  # noqa: F401
from brokers import made_up_rows
from killable import finished

import forks.serve.running
import forks.streams.sources.kafka
import forks.streams.sources.nats
import forks.streams.sources.stream_input  # noqa: F401

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "rows.jsonl"
    file.write_text("\n".join(made_up_rows(150)))
    finished("run", file, "--effort", "fast", "--save", Path(folder) / "model")
