"""Figures of a report; what a rate is, the host knows."""

from snakepit_bridge import current_call, tool


@tool
def mean(numbers: list[float]) -> float:
    """Returns the mean of some numbers."""
    return sum(numbers) / len(numbers)


@tool
def in_currency(amount: float, currency: str) -> float:
    """Converts an amount at the host's rate."""
    rate: float = current_call().host("rate", currency)
    return amount * rate
