"""Failures, in words and as frames."""
