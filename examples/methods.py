"""The methods on one stream: mistakes against time, all with the same budget and bandwidth."""

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

figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
for method in CATALOGUE:
    if method.bounded:
        at = last[method.name]
        time = 1e6 * at.seconds / at.rounds
        marker = "o" if method.order == 1 else "s"
        axis.plot(time, 100 * at.mistake_rate, marker, color=f"C{method.order - 1}")
        axis.annotate(
            method.name,
            (time, 100 * at.mistake_rate),
            textcoords="offset points",
            xytext=(6, -11 if method.order == 1 else 3),
            fontsize="small",
        )
axis.plot([], [], "o", color="C0", label="first order")
axis.plot([], [], "s", color="C1", label="second order")
axis.set(xscale="log", xlabel="µs per row", ylabel="mistakes, every round counted, %")
axis.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
axis.minorticks_off()
axis.margins(x=0.15)
axis.legend()
figure.savefig("methods.png", dpi=120)
