"""A River pipeline: a scaler, a learner of this package, and a drift detector beside them."""

from collections import deque

import matplotlib.pyplot as plt
from river import drift, preprocessing

from forks.compat.river import KernelClassifier
from forks.kernels import Gaussian
from forks.learners import FORKS
from forks.streams import drift_rows, drifting

ROWS, CONCEPTS = 12_000, 3


def new_model():
    learner = FORKS(kernel=Gaussian(bandwidth=2.0), budget=100)
    return preprocessing.StandardScaler() | KernelClassifier(learner, seed=0)


model, detector = new_model(), drift.binary.DDM()
recent = deque(maxlen=500)  # was the answer right?
rows, rates, alarms = [], [], []
row = 0
for X, y in drifting(ROWS, n_features=4, n_concepts=CONCEPTS, seed=1):
    for values, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(values))
        right = model.predict_one(x) == label
        recent.append(right)
        detector.update(not right)
        if detector.drift_detected:
            alarms.append(row)
            model, detector = new_model(), drift.binary.DDM()
        model.learn_one(x, label)
        row += 1
        if row % 100 == 0:
            rows.append(row)
            rates.append(100 * sum(recent) / len(recent))

figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
axis.plot(rows, rates)
for place in drift_rows(ROWS, CONCEPTS):
    changed = axis.axvline(place, color="black", linestyle=":", label="the concept changes")
for place in alarms:
    seen = axis.axvline(place, color="C3", label="the detector sees it: a new model")
axis.set(xlabel="rows", ylabel="right in the last 500 rows, %")
axis.legend(handles=[changed, seen])
figure.savefig("river_pipeline.png", dpi=120)
print(f"changes at {drift_rows(ROWS, CONCEPTS)}, alarms at {alarms}")
print("river_pipeline.png")
