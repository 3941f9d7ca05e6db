"""Explicit feature maps."""
