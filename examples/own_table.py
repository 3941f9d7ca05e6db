"""A table as it comes: semicolons, decimal commas, gaps, text and dates, learned by `forks run`."""

# %% A table of flats, as a spreadsheet would write it.
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
prices = {"Oslo": 20, "Rome": 14, "Lima": 9}
lines = ["id;size;town;since;rent"]
for i in range(4000):
    size, town = rng.uniform(20, 120), rng.choice(list(prices))
    rent = size * prices[town] * (1 + i / 8000) + rng.normal(0, 50)  # rents rise
    cell = "NA" if i % 20 == 3 else f"{size:.1f}"
    label = "" if i % 50 == 7 else f"{rent:.0f}"
    day = np.datetime64("2014-01-01") + i
    lines.append(f"F{i:04};{cell};{town};{day};{label}".replace(".", ","))

# %% One command: it says what it has understood, and predicts each row before it learns it.
with tempfile.TemporaryDirectory() as folder:
    table, answers = Path(folder) / "flats.csv", Path(folder) / "answers.csv"
    table.write_text("\n".join(lines) + "\n")
    command = ["run", str(table), "--predictions", str(answers), "--no-progress"]
    subprocess.run([sys.executable, "-m", "forks.cli", *command], check=True)
    with open(answers, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["label"]]  # some flats have no rent

# %% How far off, as the rows came.
predicted, rents = (
    np.array([float(row[name]) for row in rows]) for name in ("prediction", "label")
)
errors = np.abs(predicted - rents)
recent = np.convolve(errors, np.ones(100) / 100, "valid")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(np.arange(100, len(errors) + 1), recent)
left.set(xlabel="rows", ylabel="mean absolute error of the last 100", ylim=(0, None))
right.scatter(rents[-1000:], predicted[-1000:], s=4)
right.axline((0, 0), slope=1, color="grey", linewidth=1)
right.set(xlabel="rent, the last 1,000 rows", ylabel="predicted before it was seen")
figure.savefig("own_table.png", dpi=120)
print("own_table.png")
