"""A category of many values, by what was known of each before its row; and one of few."""

# %% Three hundred shops, some of which sell more than others; four kinds of weather; dates.
import matplotlib.pyplot as plt
import numpy as np

from forks import OnlineKernelRegressor
from forks.features import TableEncoder

rng = np.random.default_rng(0)
n, shops = 8000, 300
usual = rng.gamma(4.0, 25.0, shops)  # what a shop sells on a day
shop = rng.integers(shops, size=n)
weather = rng.choice(["sun", "rain", "snow", "fog"], n)
days = np.datetime64("2024-01-01") + np.arange(n) // 20
sunday = days.astype("datetime64[D]").astype(int) % 7 == 3
sold = usual[shop] * np.where(weather == "sun", 1.5, 1.0) * np.where(sunday, 0.2, 1.0)
sold += rng.normal(0, 10, n)
table = {"shop": [f"shop {k}" for k in shop], "weather": weather, "day": days}

# %% What the columns were taken for, and what they become.
encoder = TableEncoder(task="regression").look(table, sold)
for column in encoder.columns_:
    print(f"{column.name:8} {column.kind:9} {column.why}")
X = encoder.learn_transform(table, sold)  # each row by the rows before it
names = list(encoder.get_feature_names_out())
print(f"{len(names)} features, among them {names[0]!r} and {names[1]!r}")

# %% With the shops, and without.
errors = {}
for name, rows in {"all columns": X, "without the shop": X[:, 2:]}.items():
    errors[name] = np.abs(OnlineKernelRegressor().prequential(rows, sold) - sold)
    print(f"{name:17} mean absolute error {errors[name].mean():.1f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
rounds = np.arange(1, n + 1)
for name, each in errors.items():
    left.plot(rounds[50:], np.cumsum(each)[50:] / rounds[50:], label=name)
left.legend()
left.set(xlabel="rows", ylabel="mean absolute error so far", ylim=(0, None))
known = encoder.transform({name: cells[-2000:] for name, cells in table.items()})[:, 1]
right.scatter(usual[shop[-2000:]], known, s=4)
right.set(xlabel="what a shop usually sells", ylabel="what the encoder has learned of it")
figure.savefig("categories.png", dpi=120)
print("categories.png")
