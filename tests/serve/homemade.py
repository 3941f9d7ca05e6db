"""The usual home-made service, to compare with: FastAPI and a River pipeline in one process.

It keeps no journal, checks nothing but types, and loses what it has learned when it ends.
"""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from river import compose, linear_model, preprocessing, stats

numbers = compose.SelectType(float, type(None)) | preprocessing.StatImputer(("u", stats.Mean()))
words = compose.SelectType(str) | preprocessing.OneHotEncoder()
model = (numbers | preprocessing.StandardScaler()) + words | linear_model.LogisticRegression()
app = FastAPI()


class Labelled(BaseModel):
    """A row and its label."""

    row: dict[str, float | str | None]
    label: str


@app.get("/readyz")
def ready() -> dict[str, str]:
    """Answer once the service runs."""
    return {"status": "ready"}


@app.post("/predict-then-learn")
def predict_then_learn(body: Labelled) -> dict[str, float]:
    """Answer with the probability of "yes", then learn the label."""
    p = model.predict_proba_one(body.row).get(True, 0.0)
    model.learn_one(body.row, body.label == "yes")
    return {"probability": p}


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
