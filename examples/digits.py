"""Ten digits in one pass: every image is guessed before its label is known."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from forks import OnlineKernelClassifier

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]

model = OnlineKernelClassifier()
scores = model.prequential(X, y)
answers = model.labels_of(scores)
wrong = answers != y
print(f"{wrong.mean():.1%} mistakes in all, {wrong[-1000:].mean():.1%} in the last 1,000 rounds")

figure = plt.figure(figsize=(10, 3.8), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
axis = left.subplots()
rounds = np.arange(1, len(y) + 1)
axis.plot(rounds, 100 * np.cumsum(wrong) / rounds)
axis.set(xlabel="images", ylabel="mistakes so far, %", xscale="log", ylim=(0, 100))
right.suptitle("The last mistakes")
for image, row in zip(right.subplots(3, 4).ravel(), np.flatnonzero(wrong)[-12:], strict=False):
    image.imshow(X[row].reshape(8, 8), cmap="gray_r")
    image.set_title(f"{y[row]}, not {answers[row]}", fontsize="small")
    image.axis("off")
figure.savefig("digits.png", dpi=120)
print("digits.png")
