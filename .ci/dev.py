"""Set up `.venv` and run one of this project's tasks: `python3 .ci/dev.py demo`.

Needs nothing but Python and either uv or pip. It parses on Python 3.6, so that an old interpreter gets a
sentence and not a SyntaxError.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, STDOUT

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
UV_HOME = ROOT / ".uv"
STAMP = VENV / ".planrail-setup"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
SUFFIX = ".exe" if os.name == "nt" else ""
PYTHON = BIN / ("python" + SUFFIX)

WAITING = 3  # planrail's exit code for "waits for a person", which is where the demo is to get

TASKS = {
    "demo": "run a demo, by itself the complaint (installs what running needs, no more)",
    "test": "ruff, mypy and pytest: what CI runs",
    "lint": "ruff check and ruff format --check",
    "types": "mypy --strict over code and tests",
    "pytest": "pytest alone; what follows is given to it",
    "bench": "the speed and size benchmarks, alone on the machine",
    "setup": "make .venv with everything and stop",
}


class SetupError(Exception):
    """Why `.venv` cannot be made, and what to do about it, in one line."""


def main(argv: "list[str]") -> "int":
    task, rest = (argv[0], argv[1:]) if argv else ("", [])
    if task not in TASKS:
        say(
            "usage: python3 .ci/dev.py TASK\n"
            + "\n".join(f"  {name:7} {what}" for name, what in TASKS.items())
        )
        return 0 if task in {"-h", "--help", "help"} else 2
    try:
        prepare("runtime" if task == "demo" else "dev")
    except SetupError as error:
        say(f"error: {error}")
        return 2
    return perform(task, rest)


def perform(task: "str", rest: "list[str]") -> "int":
    if task == "demo":
        code = run([str(BIN / ("planrail" + SUFFIX)), "demo", *rest], cwd=None)
        return 0 if code == WAITING else code
    stages = {
        "lint": lint,
        "types": lambda: tool("mypy"),
        "pytest": lambda: tool("pytest", *(rest or ["-n", "logical", "--dist", "loadgroup"])),
        "bench": lambda: tool("pytest", "-n0", "-m", "benchmark", *rest),
    }
    names = {"test": ["lint", "types", "pytest"], "setup": []}.get(task, [task])
    codes = {}
    for name in names:
        say(f"-- {name}")
        codes[name] = stages[name]()
    failed = [name for name, code in codes.items() if code]
    if failed:
        say("failed: " + ", ".join(failed))
    return codes[failed[0]] if failed else 0


def lint() -> "int":
    return tool("ruff", "check", ".") or tool("ruff", "format", "--check", ".")


def tool(module: "str", *args: "str") -> "int":
    return run([str(PYTHON), "-m", module, *args], cwd=ROOT)


def run(command: "list[str]", cwd: "Path | None") -> "int":
    try:
        return subprocess.run(command, cwd=str(cwd) if cwd else None, env=child_env(), check=False).returncode
    except KeyboardInterrupt:
        return 130


def prepare(groups: "str") -> "None":
    """Make `.venv` hold the locked packages, unless the stamp says it does already."""
    wanted = fingerprint()
    if PYTHON.exists() and STAMP.exists():
        done, _, stamp = STAMP.read_text(encoding="utf-8").partition(" ")
        if stamp == wanted and done in {groups, "dev"}:
            return
    uv = working_uv()
    if not uv:
        refuse_old_python()
    say("setting up .venv (the first time takes about a minute) ...")
    uv = uv or install_uv()
    problem = sync_with_uv(uv, groups) if uv else "uv could not be installed"
    if problem:
        refuse_old_python()
        sync_with_pip(groups, problem)
    STAMP.write_text(f"{groups} {wanted}", encoding="utf-8")


def fingerprint() -> "str":
    digest = hashlib.sha256(str(ROOT).encode())
    for name in ("uv.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def refuse_old_python() -> "None":
    if sys.version_info < (3, 11):  # noqa: UP036 - saying so is what this line is for
        found = ".".join(str(part) for part in sys.version_info[:3])
        raise SetupError(
            f"planrail needs Python 3.11 or newer, and this is Python {found} ({sys.executable}): "
            "run the command with a newer one, for example `python3.11 .ci/dev.py demo`, or install uv"
        )


def working_uv() -> "str | None":
    """A uv that answers: the one on PATH (which may be a shim of nothing), or our own of an earlier run."""
    for candidate in (shutil.which("uv"), str(UV_HOME / "bin" / ("uv" + SUFFIX))):
        if candidate and Path(candidate).exists() and attempt([candidate, "--version"]) is None:
            return candidate
    return None


def install_uv() -> "str | None":
    """Put uv into `.uv` with pip alone: no venv module, no change to the system's packages."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--retries", "1"]
    attempt([*pip, "--upgrade", "--target", str(UV_HOME), "uv"])
    return working_uv()


def sync_with_uv(uv: "str", groups: "str") -> "str | None":
    command = [uv, "sync", "--frozen", "--quiet", "--project", str(ROOT)]
    command += ["--group", "dev"] if groups == "dev" else ["--no-dev", "--inexact"]
    if not PYTHON.exists() and sys.version_info >= (3, 11):  # else uv brings a newer one
        command += ["--python", sys.executable]
    return attempt(command)


def sync_with_pip(groups: "str", earlier: "str") -> "None":
    """The way for machines where uv cannot be had or cannot reach the locked URLs: pip, held to the lock."""
    problem = make_venv_with_pip()
    if problem:
        raise SetupError(
            f"cannot make .venv: uv: {earlier}; python -m venv: {problem}. Check the network, or install "
            "uv, or the venv module (Debian and Ubuntu: apt install python3-venv python3-pip)"
        )
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("\n".join(locked_versions()), encoding="utf-8")
        wanted = [
            "-e",
            str(ROOT),
            *(toml("pyproject.toml")["dependency-groups"]["dev"] if groups == "dev" else []),
        ]
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--retries", "1", "-c", str(constraints)]
        problem = attempt(command + wanted)
    if problem:
        raise SetupError(
            f"cannot install the packages: uv: {earlier}; pip: {problem}. Check the network connection, "
            "the proxy (HTTPS_PROXY) or the package index (PIP_INDEX_URL, UV_INDEX_URL), then run it again"
        )


def make_venv_with_pip() -> "str | None":
    if not PYTHON.exists():
        return attempt([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if attempt([str(PYTHON), "-m", "pip", "--version"]) is None:
        return None
    return attempt([str(PYTHON), "-m", "ensurepip"])  # uv made it, and uv puts no pip into it


def locked_versions() -> "list[str]":
    """`name==version` for every package that the lock pins to one version on all platforms."""
    versions = {}
    for package in toml("uv.lock")["package"]:
        if "registry" in package["source"]:
            versions.setdefault(package["name"], set()).add(package["version"])
    return [f"{name}=={found.pop()}" for name, found in sorted(versions.items()) if len(found) == 1]


def toml(name: "str") -> "dict":
    import tomllib  # noqa: PLC0415 - an older Python has none, and gets no further than refuse_old_python

    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def attempt(command: "list[str]") -> "str | None":
    """Run quietly; None when it went well, else the line of its output that says most."""
    try:
        done = subprocess.run(
            command, cwd=str(ROOT), env=child_env(), check=False, stdout=PIPE, stderr=STDOUT
        )
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    lines = [
        line for line in lines if "subprocess-exited-with-error" not in line and not line.startswith("note:")
    ]
    errors = [line for line in lines if line.lower().startswith("error") or "No module named" in line]
    return (errors or lines or [f"exit code {done.returncode}"])[-1].rstrip(".")[:300]


def child_env() -> "dict[str, str]":
    env = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    env["UV_PROJECT_ENVIRONMENT"] = str(VENV)
    return env


def say(text: "str") -> "None":
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
