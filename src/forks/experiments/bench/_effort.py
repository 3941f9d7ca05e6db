"""How much to measure: the sizes of a full run and of a quick one."""

from collections.abc import Callable
from dataclasses import dataclass

from forks.experiments.bench._data import Stream, cod_rna


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Sizes of everything that is measured."""

    repeats: int = 7
    data: Callable[[], Stream] = cod_rna
    rows: int = 59_535  # of the stream, for whole passes
    oracle_rows: int = 59_535
    call_rows: int = 10_000  # one Python call each
    estimator_rows: int = 1_000
    river_rows: int = 5_300  # of each data set that River brings
    event_rows: int = 2_000  # with an update round every 20
    warm_starts: int = 3
    compile: bool = True
    drift_rows: int = 200_000
    drift_seeds: int = 4
    update_cycles: tuple[int, ...] = (50, 100, 200, 500, 1_000, 5_000)
    orders: int = 4
    flights_rows: int = 200_000
    forest_rows: int = 30_000  # that River learns, a slow one
    growth_rows: int = 4_000
    budgets: tuple[int, ...] = (50, 100, 200, 400, 800)
    landmarks: tuple[int, ...] = (10, 20, 40, 80, 160, 320, 640)
    ranks: tuple[int, ...] = (5, 10, 20, 40, 80, 160)
    widths: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256, 512)
    nonzeros: tuple[int, ...] = (5, 10, 20, 40, 80, 160, 320)
    endless_rows: int = 10_000_000
    endless_chunk: int = 100_000
    endless_cycle: int = 2_000
    endurance_rows: int = 50_000_000
    endurance_concept: int = 100_000  # rows between two changes
    endurance_window: int = 10  # concepts
    endurance_cycle: int = 1_000
    lasting_first: int = 100_000_000
    lasting_rows: int = 20_000_000
    lasting_middle: int = 500_000
    stationary_rows: int = 5_000_000
    stationary_growing: int = 4_000  # of learners whose memory grows
    svd_updates: int = 500
    svd_long: int = 50_000
    svd_sizes: tuple[int, ...] = (100, 200, 400, 800, 1_600, 3_200)
    svd_full_up_to: int = 400
    svd_batch: int = 50


FULL = Effort()
QUICK = Effort(
    repeats=3,
    rows=20_000,
    oracle_rows=6_000,
    call_rows=3_000,
    estimator_rows=200,
    event_rows=1_200,
    warm_starts=1,
    drift_rows=100_000,
    drift_seeds=1,
    update_cycles=(100, 1_000),
    orders=1,
    flights_rows=20_000,
    forest_rows=1_000,
    growth_rows=1_500,
    endless_rows=300_000,
    endless_chunk=10_000,
    endless_cycle=200,
    endurance_rows=1_000_000,
    endurance_concept=10_000,
    endurance_window=5,
    lasting_first=200_000,
    lasting_rows=100_000,
    lasting_middle=50_000,
    stationary_rows=100_000,
    stationary_growing=2_000,
    svd_long=2_000,
)
