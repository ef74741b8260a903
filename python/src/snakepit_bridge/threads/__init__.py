"""The main thread, which runs tools, and the bridge's thread: who reads and who sends."""
