"""Loads what the processes of `killable` need, compiled functions too."""

import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from killable import finished

with suppress(ImportError):  # where there is no broker
    for name in ("confluent_kafka", "nats", "forks.serve.running"):
        import_module(name)
    for name in ("kafka", "nats", "stream_input"):
        import_module(f"forks.streams.sources.{name}")

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "rows.csv"
    file.write_text("a,b,town,y\n" + "1.5,2,t1,yes\n-0.5,,t2,no\n" * 80)
    finished("run", file, "--effort", "fast", "--save", Path(folder) / "model")
