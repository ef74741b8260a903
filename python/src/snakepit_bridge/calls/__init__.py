"""Calls: what a tool sees of its call, and how it runs, streams and is cancelled."""
