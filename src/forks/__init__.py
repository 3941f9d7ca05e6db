"""Online kernel learning."""

__version__ = "0.1.0"
