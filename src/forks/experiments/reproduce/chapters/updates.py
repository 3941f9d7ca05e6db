"""Time of an update round.

FORKS as released on 20,000 rows of cod-rna, k 50, s_m 100, buffer 2 s_p, an update round every 20
rounds with loss: CPU time of a pass beyond that of the same pass without update rounds, divided by
their number. All of the update round is in it: kernel values, the decomposition of Phi_pp, and the
new map.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from forks.experiments.record import Record, grouped
from forks.experiments.report import Block, Table
from forks.experiments.reproduce.chapters import Chapter
from forks.experiments.reproduce.rates import mean
from forks.experiments.reproduce.runs import Run


def plan(repeats: int = 3, sketch_sizes: Sequence[int] = (150, 300, 500)) -> Iterator[Run]:
    """The same stream with TISVD, with a full decomposition and without update rounds, over s_p."""
    for size in sketch_sizes:
        for permutation in range(repeats):
            for kind in ("none", "tisvd", "svd"):
                arguments = {
                    "buffer": 2 * size,
                    "sketch_size": size,
                    "n_landmarks": 100,
                    "rank": 50,
                    "update_cycle": 0 if kind == "none" else 20,
                    "decomposition": "tisvd" if kind == "none" else kind,
                    "bandwidth": 50.0,
                }
                run = ("updates", "cod-rna", f"FORKS, {kind}", "FORKS.as_released", arguments)
                yield Run(*run, permutation, rows=20_000)


def tables(records: Sequence[Record]) -> list[Block]:
    """Return what an update round costs, over the size of the sketch."""
    sizes = grouped(records, lambda r: r["arguments"]["sketch_size"])
    rows = []
    for size, own in sorted(sizes.items()):
        runs = {(r["method"].removeprefix("FORKS, "), r["permutation"]): r for r in own}
        times: dict[str, list[float]] = {"tisvd": [], "svd": []}
        for (kind, permutation), run in runs.items():
            if kind in times and ("none", permutation) in runs:
                more = run["seconds"] - runs["none", permutation]["seconds"]
                times[kind].append(more / max(1, run["updates"]))
        if not all(times.values()):
            continue
        ours, full = (1e3 * float(np.median(times[kind])) for kind in ("tisvd", "svd"))
        updates = mean([run for (kind, _), run in runs.items() if kind == "tisvd"], "updates")
        cells = [f"{updates:.0f}", f"{ours:.3g}", f"{full:.3g}", f"{full / ours:.1f}"]
        rows.append([str(size), *cells])
    header = ["s_p", "updates", "ms per update, TISVD", "ms per update, full SVD", "ratio"]
    return [Table(header, rows, 0)]


CHAPTER = Chapter(__doc__, plan, tables, quick={"repeats": 1, "sketch_sizes": (150, 500)})
