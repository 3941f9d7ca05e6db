"""A regression, and a band that is made of its own past errors."""

import matplotlib.pyplot as plt
import numpy as np

from forks import OnlineKernelRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-4, 4, 4000)
noise = 0.1 + 0.2 * (x > 0)
y = np.sin(2 * x) + 0.3 * x + noise * rng.standard_normal(x.size)

learner = {"name": "adaptive", "bandwidth": 0.5}  # of the scaled feature: the curve bends quickly
model = OnlineKernelRegressor(learner)
predicted = model.prequential(x[:, None], y)  # each before its target is used
errors = np.abs(y - predicted)

# The band: the 90 % quantile of the last errors nearby, none of which saw its own target.
grid = np.linspace(-4, 4, 200)
recent_x, recent_errors = x[-2000:], errors[-2000:]
nearest = np.argsort(np.abs(grid[:, None] - recent_x), axis=1)[:, :150]
width = np.quantile(recent_errors[nearest], 0.9, axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
middle = model.predict(grid[:, None])
left.scatter(x[-1000:], y[-1000:], s=4, color="grey", label="the last 1,000 rows")
left.plot(grid, middle, color="C0", label="prediction")
left.fill_between(grid, middle - width, middle + width, color="C0", alpha=0.25, label="90 % band")
left.legend(fontsize="small")
left.set(xlabel="x", ylabel="y")

rounds = np.arange(1, x.size + 1)
right.plot(rounds, np.cumsum(errors) / rounds)
right.set(xlabel="rows", ylabel="mean absolute error so far", xscale="log", ylim=(0, None))
figure.savefig("regression.png", dpi=120)
print(
    f"mean absolute error {errors.mean():.3f}, {errors[-1000:].mean():.3f} in the last 1,000 rows"
)
print("regression.png")
