"""Experiments: comparisons, the reproduction of the paper, benchmarks, the demonstration."""
