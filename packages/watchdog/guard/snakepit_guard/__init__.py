"""The guard: two processes between a host and its workers, so that no descendant escapes.

Linux, standard library only. The host starts the outer guard, which forks the inner
one, which forks the workers. Both are subreapers: a descendant that calls setsid,
forks twice, closes everything and clears its environment becomes their child and not
that of the system's first process. Both hold the host's lifeline: when it ends, every
descendant is killed. Each notices the death of the other, so that one can be lost.

Modules, from the kernel up: `arming` and `process_table` ask the system, `kill_order`
decides, `killing` acts; `frames` and `requests` are the host's side of the
conversation; `fork` makes a child that is held until it is told to go on, and
`execute` is one thing that such a child can become; `inner` and `outer` are the loops.
"""
