"""`planrail` in a process that dies while it sends a mail: `-m tests.walkthroughs.dying WHEN WORDS...`."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from graph.cli import main
from graph.demo import mail_drop
from tools.builtin.mail_log import Sending


def _then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def done(*args: Any) -> None:
        function(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    return done


if __name__ == "__main__":
    if sys.argv[1] == "noted":  # the server took the mail, and the book of sent mails knows it
        Sending.sent = _then_die(Sending.sent)  # type: ignore[method-assign]
    else:  # "kept": the server has the mail, and has not said so
        mail_drop._keep = _then_die(mail_drop._keep)
    sys.exit(main(sys.argv[2:]))
