"""Page's sum over mistakes: has their rate gone up, and since when?

Page, "Continuous inspection schemes", 1954.
"""

import numpy as np


class PageWatch:
    """Log-likelihood ratios for the hypothesis that mistakes are `gain` times as frequent as usual.

    The usual rate is the mean since `begun`, later an exponential mean over `memory` rounds,
    between `least` and `most`. The first `settle` rounds only count. `sum` above `alarm` says that
    the rate has gone up. `quiet` is the round at which the sum was last 0.
    """

    def __init__(
        self,
        *,
        gain: float = 1.5,
        alarm: float = 16.0,
        settle: int = 100,
        memory: int = 1000,
        least: float = 0.005,
        most: float = 0.6,
        highest: float = 0.95,
    ):
        self.gain, self.alarm, self.settle, self.memory = gain, alarm, settle, memory
        self.least, self.most, self.highest = least, most, highest
        self.wrong: list[bool] = []  # was a round a mistake?
        self.sum, self.rate = 0.0, 0.0
        self.begun, self.quiet = 0, 0

    @property
    def alarmed(self) -> bool:
        return self.sum > self.alarm

    def observe(self, wrong: bool) -> None:
        """Count the outcome of the next round."""
        self.wrong.append(wrong)
        counted = len(self.wrong) - self.begun
        if counted > self.settle:
            usual = self.usual_rate()
            higher = min(self.gain * usual, self.highest)
            ratio = higher / usual if wrong else (1.0 - higher) / (1.0 - usual)
            self.sum = max(0.0, self.sum + np.log(ratio))
            if self.sum == 0.0:
                self.quiet = len(self.wrong)
        self.rate += (wrong - self.rate) / min(counted, self.memory)

    def usual_rate(self) -> float:
        return float(np.clip(self.rate, self.least, self.most))

    def rounds_since_change(self, least: int, most: int) -> int:
        """The last n rounds whose own rate of mistakes is most likely, against the usual one."""
        usual = self.usual_rate()
        watched = min(len(self.wrong) - self.quiet, most)
        likely, best = 0.0, least
        for n in range(least, watched + 1):
            wrong = np.array(self.wrong[-n:], bool)
            if wrong.mean() > usual:
                own = np.where(wrong, wrong.mean(), 1.0 - wrong.mean())
                gain = np.sum(np.log(own) - np.log(np.where(wrong, usual, 1.0 - usual)))
                if gain > likely + 1e-9:
                    likely, best = gain, n
        return best

    def rest(self) -> None:
        """Set the sum to 0."""
        self.sum, self.quiet = 0.0, len(self.wrong)

    def begin_mean(self) -> None:
        """Begin the mean anew with the next round."""
        self.begun = len(self.wrong)

    def begin_again(self, n: int) -> None:
        """Forget all but the last n outcomes, and the rate."""
        self.wrong, self.rate = self.wrong[-n:], 0.0
        self.begin_mean()
