"""Rows as lines of a terminal."""

from collections.abc import Sequence

from rich.cells import cell_len


def aligned(rows: Sequence[Sequence[str]], widest: int | None = None) -> list[str]:
    """Return a line for each row, with columns that start where they start in every row.

    Args:
        rows: All of the same length. Wide characters count as the two cells that they fill.
        widest: Cells of a column; what is longer moves only what comes after it in its own row.
    """
    lengths = [map(cell_len, column) for column in zip(*rows, strict=True)]
    widths = [max((n for n in each if widest is None or n <= widest), default=0) for each in lengths]
    return ["  ".join(map(_padded, row, widths)).rstrip() for row in rows]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))
