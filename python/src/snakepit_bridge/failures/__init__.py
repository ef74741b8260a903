"""Failures of calls, as frames."""
