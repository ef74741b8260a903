import re


def case_name(value: object) -> str:
    """How a case of a parametrized test is named: the same in each process, so without addresses and with sets in order."""
    if isinstance(value, (set, frozenset)) and value:
        return f"{{{', '.join(sorted(map(case_name, value)))}}}"[:60]
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:60]
