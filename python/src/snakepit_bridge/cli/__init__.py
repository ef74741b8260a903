"""The command line: one tool alone, without a host."""
