"""The benchmark behind `forks bench`: speed, growth and TISVD, as ratios within one run.

One file per question, each with a `measure(effort)` that yields flat records; `_runner.PARTS`
lists them. Tables and figures read records and nothing else.
"""

from forks.experiments.bench._runner import main

__all__ = ["main"]
