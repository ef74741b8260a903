"""Annotations as checks of values and as JSON schemas."""
