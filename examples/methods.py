"""The methods on one stream: mistakes and time, all with the same budget and bandwidth."""

import matplotlib.pyplot as plt

from forks import OnlineKernelClassifier
from forks.evaluate import prequential
from forks.kernels import Gaussian
from forks.learners.catalogue import CATALOGUE, Setting
from forks.streams import drifting

ROWS = 10_000
setting = Setting(kernel=Gaussian(bandwidth=3.0), budget=100, n_rounds=ROWS)
models = {
    method.name: OnlineKernelClassifier(method.make(setting), random_state=0)
    for method in CATALOGUE
    if method.bounded
}
stream = drifting(ROWS, n_concepts=1, seed=0)
last = {at.model: at for at in prequential(models, stream, every=ROWS)}

methods = sorted((m for m in CATALOGUE if m.bounded), key=lambda m: last[m.name].mistake_rate)
names = [method.name for method in methods]
colors = [f"C{method.order - 1}" for method in methods]
mistakes = [100 * last[name].mistake_rate for name in names]
times = [1e6 * last[name].seconds / last[name].rounds for name in names]

figure, axes = plt.subplots(1, 2, figsize=(8, 5), sharey=True, layout="constrained")
for axis, values, what in zip(axes, (mistakes, times), ("mistakes, %", "µs per row"), strict=True):
    axis.hlines(names, 0, values, colors="lightgrey")
    axis.scatter(values, names, c=colors, zorder=2)
    axis.set(xlabel=what, xlim=(0, None))
axes[0].invert_yaxis()  # of both: the fewest mistakes come first
axes[0].scatter([], [], c="C0", label="first order")
axes[0].scatter([], [], c="C1", label="second order")
axes[0].legend(loc="upper right")
figure.savefig("methods.png", dpi=120)
for name, rate, time in zip(names, mistakes, times, strict=True):
    print(f"{name:20} {rate:5.1f} % mistakes, {time:5.1f} µs per row")
print("methods.png")
