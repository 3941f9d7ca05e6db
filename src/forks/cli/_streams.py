"""`forks run` on a stream of a broker."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from forks.cli._app import tell
from forks.cli._files import told_of
from forks.streams.sources import is_url, make_publisher, make_source, position_from_json
from forks.streams.sources.publishing import Sent
from forks.streams.sources.stream_input import StreamInput
from forks.streams.tables import Input

_TOLD = 3  # faults that have a line each


def stream_input(options: Any, known: Any, place: dict[str, Any] | None, rows: int) -> Any:
    """Return the stream that the options name.

    `known` is how it was read before, `place` where a checkpoint ends that has learned `rows`.
    """
    if len(options.paths) > 1:
        raise ValueError("a stream of a broker is learned alone, without other streams or files")
    if options.shuffle:
        raise ValueError("--shuffle needs a file that can be read to its end, not a stream")
    if not (known is None or isinstance(known, Input)):
        raise ValueError("a model of an earlier version reads files only")
    if rows and place is None:
        raise ValueError(f"--checkpoint {options.checkpoint} is of files, not of a stream")
    for name in ("features", "encoding", "zero_based"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} is for files; messages of a stream are JSON in UTF-8")
    return StreamInput(
        options.paths,
        known=known,
        **told_of(options),
        source=make_source(options.paths[0], until_end=options.until_end, say=tell),
        position=None if place is None else position_from_json(place["position"]),
        before=rows,
        made=None if place is None else place["source"],
        first=options.first,
        on_skip=_Skipped() if options.skip_bad else None,
    )


@contextmanager
def publishing(keeping: dict[str, Any], file: Any) -> Iterator[Any]:
    """Context of what publishes predictions, if a URL is among the outputs; else of None."""
    if not is_url(keeping["predictions"]):
        yield None
        return
    publisher = make_publisher(keeping["predictions"], tell)
    keeping["predictions"] = None
    try:
        publisher.open()
        yield _Published(publisher, getattr(file, "id_of", lambda row: str(row + 1)))
    finally:
        publisher.close()


class _Published:
    """Predictions as messages, each with the place of its row as its id."""

    def __init__(self, publisher: Any, id_of: Callable[[int], str]) -> None:
        self._publisher, self._id_of = publisher, id_of

    def send(self, row: int, record: dict[str, Any]) -> None:
        id = self._id_of(row)
        self._publisher.send(Sent(id, json.dumps({"id": id, **record}).encode()))

    def flush(self, patience: float | None = None) -> bool:
        arrived: bool = self._publisher.flush(patience)
        return arrived


class _Skipped:
    """Tells of faults that are passed over: of the first ones, then of the 10th, 100th, ..."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, fault: str) -> None:
        self.n += 1
        if self.n <= _TOLD or self.n == 10 ** (len(str(self.n)) - 1):
            tell(f"{fault}; passed over, {self.n:,} so far")
