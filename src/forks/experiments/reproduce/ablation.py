"""Mistakes of the default learner and of its variants: a table."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from forks.experiments.reproduce.defaults import DEFAULT, VARIANTS
from forks.experiments.reproduce.document import Block, Paragraph, Table
from forks.experiments.reproduce.records import Record
from forks.experiments.reproduce.report import every_round
from forks.experiments.reproduce.runs import DONE


def ablation_table(records: Sequence[Record]) -> list[Block]:
    """Return the mean mistake rates, a line per variant and a column per stream."""
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record["status"] == DONE:
            stream = _stream(record)
            rates[record["method"], stream].append(every_round(record))
            if record["method"] == DEFAULT:
                times[stream].append(1e6 * record["seconds"] / record["n_rows"])
    streams = list(dict.fromkeys(stream for _, stream in rates))
    lines = []
    played = {name for name, _ in rates}
    for variant in [
        *(name for name in VARIANTS if name in played),
        *sorted(played - set(VARIANTS)),
    ]:
        cells = [_cell(rates.get((variant, stream))) for stream in streams]
        lines.append([variant, *cells])
    speed = ["µs a round", *(f"{np.median(times[stream]):.2g}" for stream in streams)]
    counts = sorted({len(values) for values in rates.values()})
    told = "Permutations of each stream: " + ", ".join(map(str, counts)) + "."
    return [Paragraph(told), Table(["", *streams], [*lines, speed])]


def _stream(record: Record) -> str:
    return record["data"] + (f", {record['repeats']} repeats" if record["repeats"] else "")


def _cell(rates: Sequence[float] | None) -> str:
    return f"{np.mean(rates):.2f} ± {np.std(rates):.2f}" if rates else ""
