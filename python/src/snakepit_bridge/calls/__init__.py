"""Calls: what a tool sees of one, and how it is run, streamed and cancelled."""
