"""How much harm a step or a call can do."""

from enum import StrEnum


class Risk(StrEnum):
    """How much harm a step can do if it is wrong."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 for low, 1 for medium, 2 for high."""
        return list(Risk).index(self)


def max_risk(first: Risk, *others: Risk) -> Risk:
    """Return the highest of the given risks."""
    return max((first, *others), key=lambda risk: risk.rank)
