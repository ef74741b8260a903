"""The MessagePack extension types of the value encoding, and its limits."""

# An instant is MessagePack's own timestamp, which is extension -1.
BIG_INTEGER = 1
TABLE = 2
DATE = 3
DATE_TIME = 4
MAP = 5
TUPLE = 6
SET = 7
ND_ARRAY = 8
ATTACHED = 9
DATE_TIMES = 10
# Far from the others: it is not a value, but refers to an object.
HANDLE = 32

# More nested containers than this have no encoding; the other language has the same limit.
MAX_DEPTH = 100
