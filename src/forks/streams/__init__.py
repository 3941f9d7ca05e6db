"""Streams: generated ones, and the benchmark files."""

from forks.streams.synthetic import adversarial, drift_rows, drifting

__all__ = ["adversarial", "drift_rows", "drifting"]
