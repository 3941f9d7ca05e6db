"""Labels that come late: how many rows are predicted before the label of one comes."""

from collections.abc import Sequence
from typing import Any


class LateLabels:
    """Counts rows that were predicted and not yet learned, and tells the engine of the delay.

    The delay is looked at when a row is learned after a prediction: if so many rows were predicted
    and not learned, the oldest one is that whose label comes now. A row that is learned right
    after its own prediction comes without delay; what was predicted before it, and never learned,
    is forgotten. The engine is told when the delay has changed by more than a quarter.
    """

    def __init__(self) -> None:
        self.predicted = 0  # rows whose labels have not come
        self.delay = 0  # that the engine knows of
        self._last: Sequence[Any] | None = None  # values of the row that was predicted last
        self._batch = 0  # or how many rows were, if it was a frame
        self._is_news = False  # has something been predicted since the last row was learned?

    def predict_one(self, values: Sequence[Any] | None) -> None:
        """Count a row that is predicted, with these values; again and again counts once."""
        if self.predicted and (values is self._last or values == self._last):
            return
        self.predicted += 1
        self._last = values
        self._batch = 0
        self._is_news = True

    def predict_many(self, n: int) -> None:
        """Count n rows that are predicted."""
        self.predicted += n
        self._last = None
        self._batch = n
        self._is_news = True

    def learn_one(self, values: Sequence[Any] | None, engine: Any) -> None:
        """Count a row whose label has come; for when there are rows that wait for theirs."""
        if self.predicted > 1 and (values is self._last or values == self._last):
            self.predicted = 1
        self._learn(1, engine)

    def learn_many(self, n: int, engine: Any) -> None:
        """Count n rows whose labels have come; for when there are rows that wait for theirs."""
        if n == self._batch:
            self.predicted = n
        self._learn(n, engine)

    def _learn(self, n: int, engine: Any) -> None:
        delay, now = self.predicted - 1, self.delay
        if self._is_news and delay != now and (not delay or 4 * abs(delay - now) > now):
            engine.expect_delay(delay)
            self.delay = delay
        self.predicted = max(0, self.predicted - n)
        self._is_news = False
