"""Gaps: as NaN, with indicators, filled with 0, and rows with gaps left out."""

# %% Storms, in which the instrument often fails: that a number is missing says something.
import matplotlib.pyplot as plt
import numpy as np

from forks import OnlineKernelClassifier
from forks.features import TableEncoder

rng = np.random.default_rng(0)
n = 5000
pressure, wind, warmth = rng.normal(1013, 8, n), rng.gamma(2.0, 5.0, n), rng.normal(15, 5, n)
y = (wind > 8) & (pressure < 1015)
wind[rng.random(n) < np.where(y, 0.5, 0.1)] = np.nan
warmth[rng.random(n) < 0.1] = np.nan
X = np.column_stack([pressure, wind, warmth])


# %% Each label is predicted before it is used.
def mistakes(rows, labels):
    model = OnlineKernelClassifier()
    return model.labels_of(model.prequential(rows, labels)) != labels


whole = ~np.isnan(X).any(axis=1)
table = dict(zip(("pressure", "wind", "warmth"), X.T, strict=True))
wrong = {
    "filled with 0": mistakes(np.nan_to_num(X), y),
    "NaN: the mean so far": mistakes(X, y),
    "TableEncoder: and an indicator": mistakes(TableEncoder().learn_transform(table, y), y),
}

# %% Mistakes over time. On whole rows there are fewer, but the others must be answered, too.
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
rounds = np.arange(1, n + 1)
for name, lost in wrong.items():
    axis.plot(rounds[50:], 100 * np.cumsum(lost)[50:] / rounds[50:], label=name)
    print(f"{name:31} {lost.mean():.1%} mistakes")
axis.legend()
axis.set(xlabel="rows", ylabel="mistakes so far, %", xscale="log", ylim=(0, None))
figure.savefig("missing_values.png", dpi=120)
few = mistakes(X[whole], y[whole]).mean()
print(f"rows without gaps alone, {whole.mean():.0%} of them: {few:.1%} mistakes")
print("missing_values.png")
