"""A rise of mistakes that is slow, as `forks.parts.rise` describes it."""

import numpy as np


class SlowRise:
    """The lowest rate of mistakes, which is forgotten over some 20,000 rounds."""

    def __init__(self) -> None:
        self.low, self.looked = 1.0, 0

    def look(self, rate: float, rounds: int) -> bool:
        """Return whether the rate, after so many rounds, has risen."""
        kept = np.exp(-(rounds - self.looked) / 20_000)
        self.low = min(rate, kept * self.low + (1 - kept) * rate)
        self.looked = rounds
        return bool(rate > 1.25 * self.low + 0.03)
