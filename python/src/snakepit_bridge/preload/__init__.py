"""A parent that imports once what all workers need, and forks them from there."""
