"""A thin client of the service, on the standard library alone."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_AGAIN = (429, 503)
_TRIES = 5


class ServiceError(Exception):
    """A request that the service refused: `status`, and what it said of it in `problem`."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        places = [f"{k} {problem[k]!r}" for k in ("field", "row") if k in problem]
        where = f" ({', '.join(places)})" if places else ""
        super().__init__(f"{status}: {problem.get('detail', 'no reason was given')}{where}")
        self.status, self.problem = status, problem


class Client:
    """Asks a service about one of its models.

    Parameters
    ----------
    url : str
        Of the service, "http://127.0.0.1:8000" for instance.
    model : str
        Name of the model.
    token : str, optional
        Bearer token.
    timeout : float
        Seconds to wait for an answer.

    Notes
    -----
    Requests that were refused because there were too many are sent again, after the time that the
    service asks for. Others are not: after an error of the connection it is not known whether the
    rows were learned.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        model: str = "default",
        token: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._url = f"{url.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
        self._headers = {"content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"
        self._timeout = timeout

    def predict(
        self, rows: Iterable[Mapping[str, Any]], ids: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Predict rows; `ids` of those whose labels will come.

        Returns
        -------
        dict
            "predictions"; for classes also "classes" and "probabilities", a list for each row.
        """
        body: dict[str, Any] = {"rows": list(rows)}
        return self._post("predict", body if ids is None else {**body, "ids": list(ids)})

    def learn(
        self,
        rows: Iterable[Mapping[str, Any]],
        labels: Iterable[Any],
        weights: Iterable[float] | None = None,
    ) -> dict[str, Any]:
        """Learn rows and their labels; return how many, and how many in all."""
        return self._post("learn", _told(rows, labels, weights))

    def predict_then_learn(
        self,
        rows: Iterable[Mapping[str, Any]],
        labels: Iterable[Any],
        weights: Iterable[float] | None = None,
    ) -> dict[str, Any]:
        """Predict each row before its label is used, then learn it; return as `predict` does."""
        return self._post("predict-then-learn", _told(rows, labels, weights))

    def feedback(self, labels: Mapping[str, Any]) -> dict[str, str]:
        """Give labels of rows that were predicted, by id; return what became of each."""
        items = [{"id": id, "label": label} for id, label in labels.items()]
        found: dict[str, str] = self._post("feedback", {"items": items})["labels"]
        return found

    def info(self) -> dict[str, Any]:
        """Return what is known of the model."""
        return self._get("")

    def relevance(self) -> dict[str, float]:
        """Return which features matter."""
        return self._get("/relevance")

    def events(self) -> list[dict[str, Any]]:
        """Return what happened to the model."""
        found: list[dict[str, Any]] = self._get("/events")["events"]
        return found

    def _get(self, path: str) -> dict[str, Any]:
        return self._send(urllib.request.Request(self._url + path, headers=self._headers))

    def _post(self, verb: str, content: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(content, allow_nan=False).encode()
        request = urllib.request.Request(f"{self._url}/{verb}", data, self._headers, method="POST")
        return self._send(request)

    def _send(self, request: urllib.request.Request) -> dict[str, Any]:
        for tries in range(1, _TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as response:
                    found: dict[str, Any] = json.load(response)
                    return found
            except urllib.error.HTTPError as error:
                if error.code not in _AGAIN or tries == _TRIES:
                    raise ServiceError(error.code, _problem(error.read())) from None
                time.sleep(float(error.headers.get("Retry-After") or 1.0))
        raise AssertionError


def _told(rows: Any, labels: Any, weights: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"rows": list(rows), "labels": list(labels)}
    return told if weights is None else {**told, "weights": list(weights)}


def _problem(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
