"""A parent process that imports once what all workers need, and forks them."""
