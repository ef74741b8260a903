"""Forks workers on the host's request, each of which is held until the host has recorded it.

`forks` makes children that are held until they are released; `protocol` is the protocol with
the host, which the native guard speaks as well, and takes the descriptors of workers.
"""
