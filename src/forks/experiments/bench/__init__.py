"""The benchmark behind `forks bench`: speed, growth and TISVD, as ratios within one run.

A part is a question, in a file of its name: the first line of its docstring is the title, the rest
the text of the report; `measure` yields numbers, and its parameters say how much to measure; `PART`
at the end has it all. `PARTS` and `LONG_PARTS` list the parts, in the order of the report; the
command line reads them, and nothing else is imported here.
"""

PARTS = (
    "passes",
    "classifier",
    "changes",
    "cycles",
    "regression",
    "methods",
    "method_rounds",
    "rebuilding",
    "c_loop",
    "one_row",
    "river",
    "events",
    "compilation",
    "state",
    "counts",
    "faithful",
    "growth",
    "endless",
    "tisvd_accuracy",
    "tisvd_time",
)
# Only if named:
LONG_PARTS = (
    "capacity",
    "drift",
    "efforts",
    "endurance",
    "keyed",
    "lasting",
    "literature",
    "merging",
    "spark",
    "stationary",
    "table_speed",
    "tables",
    "trust",
    "wide",
)
