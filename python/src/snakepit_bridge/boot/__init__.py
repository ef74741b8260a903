"""A worker's start, up to the moment from which it cannot outlive its host.

Everything in here is imported before that moment. So it imports only light modules of
the standard library, and it also runs on a Python that is too old for the rest, in
order to report that.
"""
