"""The table of parts, and the loop that plays it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from forks.engine import one_thread
from forks.experiments.bench import (
    _figures,
    c_loop,
    compilation,
    defaults,
    endless,
    endurance,
    events,
    faithful,
    growth,
    lasting,
    methods,
    one_row,
    passes,
    regression,
    river,
    state,
    stationary,
    tisvd,
)
from forks.experiments.bench._effort import FULL, QUICK, Effort
from forks.experiments.bench._record import Record, reason_of
from forks.experiments.bench._report import Section, show, write_json, write_markdown
from forks.files import replacing


class Part(NamedTuple):
    """One question."""

    name: str
    title: str
    note: str
    measure: Callable[[Effort], Iterable[Record]]
    draw: Callable[[Sequence[Record]], Any] | None = None


PARTS = (
    Part(
        "passes",
        "A pass over cod-rna",
        "Rows in random order, each predicted before it is learned. As published: buffer 200, "
        "s_p 100, s_m 20, k 10; as released: 200, 150, 100, 15; Gaussian kernel, bandwidth 50. "
        "scikit-learn: `RBFSampler(100)` and `SGDClassifier`, in batches of 100, each transformed, "
        "predicted and learned. The oracle is `forks.oracles.forks`, plain NumPy, on the first "
        "rows of the stream.",
        passes.measure,
    ),
    Part(
        "defaults",
        "The default classifier against random features",
        "A pass over cod-rna and over spambase, rows in random order, nothing tuned. scikit-learn: "
        "`RBFSampler(400)` and `SGDClassifier`, in batches of 100, on features as they are, which "
        "costs it mistakes and no time.",
        defaults.measure_time,
    ),
    Part(
        "changes",
        "After a change of the concept",
        "The demo's stream, three abrupt changes, 5 % of the labels are noise: mistakes in windows "
        "of 500 rows over those in the 4,000 rows before the change.",
        defaults.measure_changes,
    ),
    Part(
        "cycles",
        "What updates cost on a stationary stream",
        "FORKS on cod-rna, scaled by its first 200 rows, squared hinge, 100 landmarks at full "
        "rank: mistakes beyond those without updates, an update every so many rounds with loss.",
        defaults.measure_cycles,
    ),
    Part(
        "regression",
        "The default regressor",
        "Root mean square error, each prediction made before its target was used. Nystroem has 100 "
        "landmarks from the first 1,000 rows; KernelRidge is tuned by cross-validation on its "
        "rows.",
        regression.measure,
    ),
    Part(
        "methods",
        "All methods",
        "A pass of each, rows in random order, hinge loss, Gaussian kernel: cod-rna with bandwidth "
        "50 and budget 100, spambase with bandwidth 8 and budget 50. The two-stage methods keep "
        "buffers of twice the budget; KOGD, SKETCHED-KONS and the adaptive PROS-N-KONS have none.",
        methods.measure_passes,
    ),
    Part(
        "method_rounds",
        "Rounds of all methods against KOGD",
        "The last 1,000 of the first 20,000 rounds on cod-rna, against rounds of KOGD that compare "
        "with as many stored points (FOGD: as many as it has frequencies) and store none. Rounds "
        "of PROS-N-KONS are quadratic in the points, of which the adaptive one has many.",
        methods.measure_rounds,
    ),
    Part(
        "rebuilding",
        "PROS-N-KONS against an oracle that rebuilds its matrices",
        "Budgeted, on the first 3,000 rows of cod-rna; the oracle is `forks.oracles.pros_n_kons`.",
        methods.measure_rebuilding,
    ),
    Part(
        "c_loop",
        "The regular round against C",
        "The same rounds over the same rows from the same trained state: as published, without "
        "projection and updates. The C loop is `regular_round.c`, compiled for this machine with "
        "fast-math.",
        c_loop.measure,
    ),
    Part(
        "one_row",
        "One Python call per row",
        "As published, after the switch. The methods of the classifier spend their time in "
        "scikit-learn's checks of the input.",
        one_row.measure,
    ),
    Part(
        "river",
        "River: one dict at a time",
        "`predict_one` and `learn_one` of each event: of made-up ones after the first 2,000; of "
        "two data sets that come with River from the first event on. River's pipeline is "
        "`RBFSampler(100) | LogisticRegression`, as it is and after a `StandardScaler`, of three "
        "seeds: the time is that of the fastest, the mistakes are the mean over the seeds, without "
        "or with the scaler, whichever is less. Ours is `KernelClassifier(Adaptive(buffer=100))`.",
        river.measure,
    ),
    Part(
        "events",
        "Rounds that change the map",
        "As released (buffer 200, s_p 150, s_m 100, k 15) on cod-rna, median over the update "
        "rounds of a stream with one every 20 rounds.",
        events.measure,
    ),
    Part(
        "compilation",
        "Before the first prediction",
        "Fresh processes, wall-clock: `FORKSClassifier().partial_fit` on 300 rows, then "
        "`predict`; cold with an empty cache of machine code, warm with a filled one.",
        compilation.measure,
    ),
    Part(
        "state", "Bytes of state", "All that a learner keeps, for rows of 8 numbers.", state.measure
    ),
    Part(
        "counts",
        "Mistakes against LSOKL, exactly",
        "german, 1,000 rows, the first five published orders, bandwidth 8, budget 50, every round "
        "counted. BPA-S may differ where two points tie, NOGD by the rounding of its smallest "
        "eigenvalues.",
        faithful.measure_counts,
    ),
    Part(
        "faithful",
        "As released, against the authors' code",
        "Every round counted, mean over 20 permutations; the goal is what the authors' code gave, "
        "plus or minus what the runs may differ by (one standard deviation where it is known). "
        "german: bandwidth 8 and budget 50, or bandwidth 64, buffer 100, s_p 50, s_m 10, k 5; "
        "spambase: bandwidth 8; cod-rna: bandwidth 100; adversarial german: bandwidth 50, buffer "
        "100, s_p 75, s_m 15, k 10.",
        faithful.measure_averages,
    ),
    Part(
        "growth",
        "Growth of the regular round",
        "Time per round after the switch, nearly every round with loss, on Gaussian rows; the "
        "others fixed at s_m 20, k 10, d 8 (against s_m: k 10; against k: the largest k as s_m); "
        "z are the non-zeros of a sparse row among 10,000 features. "
        "Exponents are fitted to the upper half of each range. The paper's bound O(B k + k^2) is "
        "linear in B at fixed k; its settings let k grow with B.",
        growth.measure,
        _figures.draw_growth,
    ),
    Part(
        "endless",
        "Memory over an endless stream",
        "As published, update rounds on, points joining and leaving; rows made on the fly.",
        endless.measure,
        _figures.draw_endless,
    ),
    Part(
        "tisvd_accuracy",
        "TISVD against dense decompositions",
        "The paper's experiment: a Gaussian 100 x 100 matrix, updates of three columns, k = 30.",
        tisvd.measure_accuracy,
    ),
    Part(
        "tisvd_time",
        "TISVD: time per update",
        "An n x n matrix, k = 30, Gaussian updates of three columns; scikit-learn's "
        "`randomized_svd` and NumPy's SVD decompose the changed matrix anew.",
        tisvd.measure_time,
        _figures.draw_tisvd,
    ),
)

LONG_PARTS = (  # played only if asked for
    Part(
        "endurance",
        "Endurance",
        "A drifting stream, `forks.streams.drifting` with 8 features, through two learners in one "
        "process, chunk by chunk, each concept as long as a chunk: the default learner, and FORKS "
        "with update rounds on, weights carried over and landmarks refreshed. Rates are per second "
        "of CPU time, over windows of whole concepts, drawing the rows not included. Concepts are "
        "not equally hard, and a hard one takes more Newton steps; a machine that others use too "
        "is not equally fast all the time: the reference is a new learner of the same kind that "
        "learns the same rows each time, before and after each concept. Orthogonality is the "
        "largest entry of |V V' - I| for the eigenvectors of the sketch, changed by each update "
        "and never made anew; eigenvalues are those of P = A^-1, at the end of each concept.",
        endurance.measure,
        _figures.draw_endurance,
    ),
    Part(
        "lasting",
        "The default learner on streams without a change",
        "`partial_fit` in chunks of 100,000 rows. Rows are normal, with four features or as the "
        "name says; the class is x_0 x_1 > 0, |x_0| < 1 or x_0 + ... + x_4 + x_0 x_1 > 0, one "
        "label in ten is flipped; the target is sin(2 x_0) plus the last feature, with noise of "
        "standard deviation 0.5. Errors, in % or root mean squares, are those on 20,000 rows "
        "without noise that are never learned. Rows are drawn off the clock.",
        lasting.measure,
        _figures.draw_lasting,
    ),
    Part(
        "stationary",
        "Streams without a change",
        "Every learner of the catalogue but the default one, with the catalogue's settings, and "
        "FORKS and SkeGD with an update round every 1,000 losses and landmarks refreshed. Four "
        "normal features; the class is the sign of x_0 x_1, one label in ten flipped (hinge loss); "
        "the target is sin(2 x_0) + x_3 with noise 0.5 (squared error). Gaussian kernel, bandwidth "
        "1. Unscaled rows and targets are a thousand times larger: to a kernel of that bandwidth "
        "no two of them are alike; the polynomial kernel has degree 2. Sample weights, where there "
        "are any, go from 1e-3 to 1e3. Errors are those on 20,000 clean rows that are never "
        "learned, mean over 20 looks in the fifth tenth of the stream and over 20 in the last. "
        "KOGD, SKETCHED-KONS and PROS-N-KONS without a budget grow with the stream and get a "
        "shorter one. Learners with a constant step size or a small budget wobble for ever: the "
        "end counts as worse if it is so by 5 % and four standard errors.",
        stationary.measure,
    ),
)


def main(
    quick: bool, output: Path, console: Console | None = None, only: Sequence[str] = ()
) -> None:
    """Measure, print the tables, and write results.json, report.md and pictures.

    Everything is measured but for the long parts, or only the parts that are named.
    """
    command = "forks bench --quick" if quick else "forks bench"
    parts: Sequence[Part] = PARTS
    if only:
        known = {part.name: part for part in (*PARTS, *LONG_PARTS)}
        for name in only:
            if name not in known:
                raise ValueError(f"--only: no part {name!r}; there are {', '.join(known)}")
        parts = [known[name] for name in dict.fromkeys(only)]
        command += "".join(f" --only {part.name}" for part in parts)
    run(parts, QUICK if quick else FULL, output, command, console)


def run(
    parts: Sequence[Part],
    effort: Effort,
    output: Path,
    command: str,
    console: Console | None = None,
) -> list[Record]:
    """Play the parts on one thread; one that fails becomes a line with its reason."""
    console = Console(highlight=False) if console is None else console
    output.mkdir(parents=True, exist_ok=True)
    sections = []
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    # No thread that refreshes: it would take its share of the time that is measured.
    progress = Progress(*columns, console=console, transient=True, auto_refresh=False)
    with one_thread(), progress:
        task = progress.add_task("", total=len(parts))
        for part in parts:
            progress.update(task, description=part.title, refresh=True)
            records = list(_played(part, effort))
            picture, lacking = _drawn(part, records, output)
            records += lacking
            sections.append(Section(part.title, part.note, records, picture))
            show(console, part.title, records)
            progress.advance(task)
    everything = [record for section in sections for record in section.records]
    write_json(output / "results.json", everything)
    write_markdown(output / "report.md", command, sections)
    console.print(f"\nReport: {output / 'report.md'}", soft_wrap=True)
    return everything


def _played(part: Part, effort: Effort) -> Iterator[Record]:
    try:
        for record in part.measure(effort):
            yield replace(record, part=part.name)
    except Exception as error:
        yield Record(name=part.title, reason=reason_of(error), part=part.name)


def _drawn(part: Part, records: Sequence[Record], output: Path) -> tuple[str, list[Record]]:
    """Return the file name of the picture, and a line if there should be one and is not."""
    if part.draw is None or not any(record.against for record in records):
        return "", []
    name = f"{part.name}.png"
    try:
        with replacing(output / name) as file:
            part.draw(records).savefig(file, format="png")
    except Exception as error:
        return "", [Record(name=f"{part.title}: picture", reason=reason_of(error), part=part.name)]
    return name, []
