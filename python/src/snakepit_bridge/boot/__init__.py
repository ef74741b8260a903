"""A worker's start, up to the moment from which it cannot outlive its host.

Everything in here is imported before that moment, so it imports only light
modules of the standard library, and runs (far enough to say so) on a Python
that is too old for the rest.
"""
