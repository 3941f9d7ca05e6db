"""Figures of a stream, made in one pass in bounded memory: over all rows, and over the last ones.

`classification` and `regression` put the parts together: `answers` (counts, and the rates that
`rates` makes of them), `repeats` (the last label), `probabilities` (log loss, Brier score), `ranks`
(AUC). A part is updated with the next rows; its `arrays` are all it knows, and `restore` goes on
from them.
"""

from forks.evaluate.measures.classification import ClassificationMeasures
from forks.evaluate.measures.regression import RegressionMeasures

__all__ = ["ClassificationMeasures", "RegressionMeasures"]
