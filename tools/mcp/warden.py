"""Starts an MCP server and ends it when the program that wanted it is gone, however that ended.

Run by its path, as a program of its own: `warden.py PARENT_PID COMMAND [ARGUMENT]...`. The server has the
streams of this process; both are in one process group, which the parent ends as a whole. A server is told
by the end of its input that its client is gone, but not every one listens.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

POLL_SECONDS = 0.5
GRACE_SECONDS = 1.0
NOT_STARTED = 127
_SET_PARENT_DEATH_SIGNAL = 1


def main(argv: list[str]) -> int:
    """Start the command; return its exit code when it ends by itself."""
    parent, command = int(argv[0]), argv[1:]
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, _outlive)
    try:
        server = subprocess.Popen(command, preexec_fn=_die_with_parent)  # noqa: S603, PLW1509 - one thread yet
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        return NOT_STARTED
    # What is left open here would keep the server's end of the streams from being noticed.
    for stream in (0, 1):
        os.close(stream)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    return server.wait() & 0xFF


def _die_with_parent() -> None:
    """Have the kernel end the server when this process is killed itself, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _outlive(_number: int, _frame: object) -> None:
    """A signal to the group is the server's to follow; this process ends when that has."""


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.killpg(0, signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
