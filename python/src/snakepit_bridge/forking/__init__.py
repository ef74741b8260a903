"""Forks workers on the host's request, each of which is held until the host has recorded it.

From the kernel up: `arming` and `children` ask the system, `fork` makes a child that is
held until it is released; `frames` and `requests` are the protocol with the host, which
the native guard speaks as well; `reception` takes the descriptors of workers.
"""
