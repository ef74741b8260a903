"""The guard: three processes between a host and its workers, so that no worker escapes.

Linux, standard library only. The host starts the outermost guard, which forks the
middle one, which forks the inner one, which forks the workers. All are subreapers: a
descendant that calls setsid, forks twice, closes everything and clears its environment
becomes their child instead of a child of the system's first process. All hold the
host's lifeline: when it ends, every descendant is killed. Each notices the death of the
others, so that two of them can be lost at once.

Modules, from the kernel up: `arming` and `process_table` ask the system, `kill_order`
decides, `killing` acts; `frames` and `requests` are the protocol with the host; `fork`
makes a child that is held until it is released, and `execute` turns such a child into
another program; `inner` and `outer` are the loops.
"""
