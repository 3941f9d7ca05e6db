"""Two moons, learned live: the decision surface after 10, 100 and 1,000 rows."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from forks import OnlineKernelClassifier

X, y = make_moons(1000, noise=0.2, random_state=0)
model = OnlineKernelClassifier()
across, up = np.meshgrid(np.linspace(-2, 3, 120), np.linspace(-1.5, 2, 120))
grid = np.column_stack([across.ravel(), up.ravel()])

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
learned, mistakes = 0, 0
for axis, rows in zip(axes, (10, 100, 1000), strict=True):
    new = slice(learned, rows)
    scores = model.prequential(X[new], y[new], classes=[0, 1])  # made before each label is used
    mistakes += np.sum(model.labels_of(scores) != y[new])
    learned = rows

    surface = model.predict_proba(grid)[:, 1].reshape(across.shape)
    axis.contourf(across, up, surface, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    axis.contour(across, up, surface, levels=[0.5], colors="black")
    axis.scatter(*X[:rows].T, c=y[:rows], cmap="RdBu_r", s=8, edgecolors="none")
    axis.set_title(f"{rows:,} rows, {mistakes} mistakes so far")
    print(f"{rows:5,} rows, {mistakes} mistakes so far")
figure.savefig("moons.png", dpi=120)
print("moons.png")
