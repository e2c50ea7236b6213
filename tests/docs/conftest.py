"""A user at a prompt, as the tests of the command line have one."""

from tests.cli.conftest import prompt

__all__ = ["prompt"]
