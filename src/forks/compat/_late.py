"""Labels that come late: how many rows are predicted before the label of one comes."""

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
        self._last: Any = None  # values of the row that was predicted last
        self._batch = 0  # or how many rows were, if it was a frame
        self._is_news = False  # has something been predicted since the last row was learned?

    def predict_one(self, values: Any) -> None:
        """Count a row that is predicted; `values` tell it from others, and repeats count once."""
        if self.predicted and _same(values, self._last):
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

    def learn_one(self, values: Any, engine: Any) -> None:
        """Count a row whose label has come; for when there are rows that wait for theirs."""
        if self.predicted > 1 and _same(values, self._last):
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


def _same(values: Any, others: Any) -> bool:
    """Return whether rows are equal: dicts, or the numbers made from them."""
    try:
        return values is others or bool(values == others)
    except ValueError:  # of arrays among the values
        return False
