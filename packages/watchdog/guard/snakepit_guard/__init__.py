"""The guard: three processes between a host and its workers, so that none escapes.

Linux, standard library only. The host starts the outermost guard, which forks the
middle one, which forks the inner one, which forks the workers. All are subreapers: a
descendant that calls setsid, forks twice, closes everything and clears its environment
becomes their child and not that of the system's first process. All hold the host's
lifeline: when it ends, every descendant is killed. Each notices the death of the
others, so that two can be lost at once.

Modules, from the kernel up: `arming` and `process_table` ask the system, `kill_order`
decides, `killing` acts; `frames` and `requests` are the host's side of the
conversation; `fork` makes a child that is held until it is told to go on, and
`execute` is one thing that such a child can become; `inner` and `outer` are the loops.
"""
