"""The main thread, which runs tools, and the bridge's thread: which of them reads, and
which sends.
"""
