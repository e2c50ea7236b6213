"""What the tests of the file tools share."""

import os
from pathlib import Path

import pytest

LINKS = pytest.mark.skipif(os.name == "nt", reason="making a link needs a privilege on Windows")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())
