"""Workers on the nodes of a Ray cluster (docs/bridge-protocol.md, section 8).

The gateway is the only Ray driver of a pool. A stand-in is the local process of one
worker, a relay is the worker's host on its node.
"""
