"""The command line: `planrail`, or `python -m graph.cli`."""

from graph.cli.app import main

__all__ = ["main"]
