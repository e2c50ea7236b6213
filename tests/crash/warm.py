"""A process that has everything imported and forks a child for each job: a start costs no imports.

It reads a JSON line per order and answers with one: `{"jobs": [...], "kill_after": seconds or null}` runs
the jobs side by side and tells how each child ended. It has no thread and no event loop of its own.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from tests.crash.agent_errand import AgentErrand
from tests.crash.errand import Errand, go_on, write_result
from tests.crash.list_errand import ListErrand
from tests.crash.undo_errand import UndoErrand

KINDS = {"errand": Errand, "list": ListErrand, "agent": AgentErrand, "undo": UndoErrand}


def serve() -> None:
    assert threading.active_count() == 1, "a fork copies only this thread"
    print("ready", flush=True)  # noqa: T201 - the protocol with the tests
    for line in sys.stdin:
        order = json.loads(line)
        children = [_fork(job) for job in order["jobs"]]
        if order["kill_after"] is not None:
            time.sleep(order["kill_after"])
            for child in children:
                os.kill(child, signal.SIGKILL)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(codes), flush=True)  # noqa: T201


def _fork(job: dict[str, Any]) -> int:
    child = os.fork()
    if child == 0:
        os._exit(_work(job))
    return child


def _work(job: dict[str, Any]) -> int:
    folder = Path(job["folder"])
    try:
        kind = KINDS[job.get("kind", "errand")]
        errand = kind(
            folder, idempotent=job["idempotent"], kill_at=job.get("kill_at"), slow=job.get("slow", 0)
        )
        result = asyncio.run(go_on(errand, answer=job.get("answer", True)))
    except BaseException:  # noqa: BLE001 - the child ends here; its parent shows this
        result = {"traceback": traceback.format_exc()}
    write_result(folder, job["result"], result)
    return 0


if __name__ == "__main__":
    serve()
