"""A concept that changes abruptly: with new starts, without, and a linear model."""

import matplotlib.pyplot as plt
from sklearn.linear_model import SGDClassifier

from forks import OnlineKernelClassifier
from forks.evaluate import prequential
from forks.learners import Adaptive
from forks.streams import drift_rows, drifting

ROWS = 60_000
models = {
    "OnlineKernelClassifier()": OnlineKernelClassifier(),
    "without new starts": OnlineKernelClassifier(Adaptive(restart=False)),
    "SGDClassifier, linear": SGDClassifier(loss="log_loss", random_state=0),
}
curves = {name: ([], []) for name in models}
stream = drifting(ROWS, seed=0, chunk=500)
for at in prequential(models, stream, every=500, window=1000, classes=[-1, 1]):
    rows, rates = curves[at.model]
    rows.append(at.rounds)
    rates.append(100 * at.recent_mistake_rate)

figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
for name, (rows, rates) in curves.items():
    axis.plot(rows, rates, label=name)
for row in drift_rows(ROWS):
    axis.axvline(row, color="grey", linestyle=":")
axis.set(xlabel="rows", ylabel="mistakes in the last 1,000 rows, %", ylim=(0, None))
axis.legend()
figure.savefig("drift.png", dpi=120)
for name, (_, rates) in curves.items():
    print(f"{name:26} {sum(rates) / len(rates):.1f} % mistakes")
print("drift.png")
