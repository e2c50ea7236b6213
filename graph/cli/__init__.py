"""The command line: `planrail`, or `python -m graph.cli`."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code. Arguments are this process's own when absent."""
    try:
        # Deferred, so that Ctrl-C during a second of imports is no traceback.
        from graph.cli.app import run_command  # noqa: PLC0415
    except KeyboardInterrupt:
        return 130
    return run_command(argv)
