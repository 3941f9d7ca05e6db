"""Text: a million hashed features, learned as the texts come, with words that go out of use."""

# %% Short texts about one of three topics; halfway the topics begin to use other words.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from forks import OnlineKernelClassifier

rng = np.random.default_rng(0)
n = 6000
common = [f"word{k}" for k in range(300)]
topics = ["sports", "weather", "music"]
words = {topic: [f"{topic}{k}" for k in range(400)] for topic in topics}
labels = rng.choice(topics, n)
texts = []
for t, label in enumerate(labels):
    own = words[label][:200] if t < n // 2 else words[label][200:]
    stray = words[rng.choice(topics)]
    texts.append(" ".join([*rng.choice(common, 12), *rng.choice(own, 3), *rng.choice(stray, 2)]))
X = HashingVectorizer().transform(texts)  # learns nothing, so new words need no preparation

# %% Each text is predicted before its label is used; by scikit-learn's model, twenty at a time.
model = OnlineKernelClassifier()
ours = model.labels_of(model.prequential(X, labels)) != labels
linear, theirs = SGDClassifier(loss="log_loss", random_state=0), []
for part in (slice(t, t + 20) for t in range(0, n, 20)):
    said = linear.predict(X[part]) if theirs else "nothing yet"
    theirs += list(said != labels[part])
    linear.partial_fit(X[part], labels[part], classes=topics)

# %% Mistakes, and how quickly the new words are learned.
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for name, wrong in {"OnlineKernelClassifier()": ours, "SGDClassifier": np.array(theirs)}.items():
    recent = np.convolve(wrong, np.ones(200) / 200, "valid")
    axis.plot(np.arange(200, n + 1), 100 * recent, label=name)
    print(f"{name:25} {wrong.mean():.1%} mistakes")
axis.axvline(n // 2, color="grey", linewidth=1, linestyle=":", label="other words")
axis.legend()
axis.set(xlabel="texts", ylabel="mistakes in the last 200, %", ylim=(0, None))
figure.savefig("text.png", dpi=120)
print(f"{X.shape[1]:,} features, {model.engine_.state_bytes / 1e6:.1f} MB of state")
new = HashingVectorizer().transform(["word3 sports250"])
print("'word3 sports250' is about", model.predict(new)[0])
print("text.png")
