"""How to word a command so that it can be pasted into the shell that is open."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

DEFAULT_DATABASE = "planrail.db"


def command_line(*words: str, database: str) -> str:
    """`planrail` as it is reachable here, the words quoted, and `--db` where it is not the default."""
    more = [] if database == os.environ.get("PLANRAIL_DB", DEFAULT_DATABASE) else ["--db", database]
    return _quoted([program(), *words, *more])


def program() -> str:
    """`planrail` when the shell finds this installation's script under that name, else the script's path."""
    script = Path(sys.executable).parent / ("planrail.exe" if os.name == "nt" else "planrail")
    found = shutil.which("planrail")
    if not script.exists() or (found and Path(found).resolve() == script.resolve()):
        return "planrail"
    try:
        return str(script.relative_to(Path.cwd()))
    except ValueError:
        return str(script)


def _quoted(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
