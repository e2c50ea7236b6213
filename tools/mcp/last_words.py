"""What a started server writes to its stderr: the end of it is kept, to tell why the server ended."""

import logging
import os
import threading
from collections.abc import Sequence
from typing import TextIO

from tools.mcp.masking import masked

_LOG = logging.getLogger("planrail.mcp")
_KEPT = 4_000
_SHOWN = 200


class LastWords:
    """A pipe whose end `file` is the server's stderr, read in a thread until all who write have closed it."""

    def __init__(self, name: str, secrets: Sequence[str]) -> None:
        """Open the pipe of the server of that name; secrets are cut out of what is shown."""
        self._name, self._secrets = name, secrets
        self._said = ""
        reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._thread = threading.Thread(target=self._listen, args=(reading,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close this process' end, once the server has its own."""
        self.file.close()

    def last(self, patience: float) -> str:
        """Return the last line, "" for none; waits some seconds for a server that is ending to say it."""
        self._thread.join(patience)
        lines = [line.strip() for line in self._said.splitlines() if line.strip()]
        line = masked(lines[-1], self._secrets) if lines else ""
        return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "r", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self._said = (self._said + line)[-_KEPT:]
                _LOG.debug("%s: %s", self._name, masked(line.rstrip(), self._secrets))
