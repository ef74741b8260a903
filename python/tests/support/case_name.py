import re


def case_name(value: object) -> str:
    """How a case of a parametrized test is named: its `repr` without addresses, so that two processes agree on it."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:60]
