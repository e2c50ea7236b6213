"""One folder of files out of which no path leads."""

import contextlib
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from tools.builtin.folder import (
    DIRECTORY,
    HAS_DIR_FD,
    NOFOLLOW,
    PLAIN,
    Folder,
    check_is_file,
    closing,
    entered,
    opened,
)
from tools.errors import HardToolError

PART_PREFIX = ".planrail-part-"
"""How files that are still being written are called; a killed process may leave one behind."""


@dataclass(frozen=True)
class Entry:
    """One file that was found: its path from where the search began, bytes, and time of last change."""

    path: tuple[str, ...]
    size: int
    modified: float


@dataclass(frozen=True)
class Workspace:
    """A folder out of which no path leads.

    Attributes:
        root: The folder. It need not be there before the first file is written.
        by_descriptor: Whether folders are entered by `dir_fd`.
    """

    root: Path
    by_descriptor: bool = HAS_DIR_FD

    def read(self, names: tuple[str, ...], most: int) -> bytes:
        """Return a file's content.

        Args:
            names: Its path.
            most: Bytes it may have.

        Raises:
            HardToolError: "not_found", "is_a_folder", "not_a_file", "outside_workspace", "too_large".
        """
        with self._parent(names) as folder, opened(folder, names[-1]) as descriptor:
            size = os.fstat(descriptor).st_size
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(most + 1)
        if len(content) > most:
            shown, size = "/".join(names), max(size, len(content))
            raise HardToolError("too_large", f"{shown!r} has {size} bytes; at most {most} can be read")
        return content

    def write(self, names: tuple[str, ...], content: bytes) -> None:
        """Put a file in place in one move; folders on the way are made. The same content again is no change.

        Raises:
            HardToolError: "is_a_folder", "not_a_file", "not_a_folder", "outside_workspace".
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with self._parent(names, create=True) as folder:
            mode = folder.mode(names[-1])
            if mode is not None:
                check_is_file(folder, names[-1], mode)
                if _holds(folder, names[-1], content):
                    return
            _replace(folder, names[-1], content, mode)

    def entries(self, names: tuple[str, ...], most: int) -> Generator[Entry, None, None]:
        """Yield the files below a folder by name, in order; links and what is no file are left out.

        Args:
            names: The folder; () is the workspace.
            most: Levels of folders to go down.

        Raises:
            HardToolError: "not_found", "not_a_folder", "outside_workspace".
        """
        if not names and not self.root.exists():
            return
        with ExitStack() as stack:
            folder = stack.enter_context(self._entered(names))
            yield from _below(folder, (), most)

    def _parent(self, names: tuple[str, ...], *, create: bool = False) -> AbstractContextManager[Folder]:
        if not names:
            raise HardToolError("is_a_folder", "the path names the workspace itself; name a file in it")
        return self._entered(names[:-1], create=create)

    @contextlib.contextmanager
    def _entered(self, names: tuple[str, ...], *, create: bool = False) -> Iterator[Folder]:
        with ExitStack() as stack:
            folder = stack.enter_context(self._opened_root())
            for name in names:
                if create:
                    _make_folder(folder, name)
                folder = stack.enter_context(entered(folder, name))
            yield folder

    @contextlib.contextmanager
    def _opened_root(self) -> Iterator[Folder]:
        if not self.by_descriptor:
            yield Folder(self.root, None, "")
            return
        try:
            descriptor = os.open(self.root, os.O_RDONLY | DIRECTORY | PLAIN)
        except FileNotFoundError:
            raise HardToolError("not_found", "the workspace is empty: nothing was written yet") from None
        with closing(descriptor):
            yield Folder(self.root, descriptor, "")


def _make_folder(folder: Folder, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder.place(name), dir_fd=folder.descriptor)


def _holds(folder: Folder, name: str, content: bytes) -> bool:
    with opened(folder, name) as descriptor:
        if os.fstat(descriptor).st_size != len(content):
            return False
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(len(content) + 1) == content


def _replace(folder: Folder, name: str, content: bytes, mode: int | None) -> None:
    """Write beside the file, then move over it: nobody ever sees half of it, also after a power cut."""
    part = f"{PART_PREFIX}{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | PLAIN
    at = folder.descriptor
    descriptor = os.open(folder.place(part), flags, 0o666, dir_fd=at)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(mode))
        os.replace(folder.place(part), folder.place(name), src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(folder.place(part), dir_fd=at)
        raise
    if at is not None:
        with contextlib.suppress(OSError):  # some file systems cannot sync a folder
            os.fsync(at)


def _below(folder: Folder, path: tuple[str, ...], levels: int) -> Iterator[Entry]:
    with os.scandir(folder.path if folder.descriptor is None else folder.descriptor) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        yield from _entry(folder, name, path, levels)


def _entry(folder: Folder, name: str, path: tuple[str, ...], levels: int) -> Iterator[Entry]:
    try:
        found = os.stat(folder.place(name), dir_fd=folder.descriptor, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode) and not name.startswith(PART_PREFIX):
            yield Entry((*path, name), found.st_size, found.st_mtime)
        elif stat.S_ISDIR(found.st_mode) and levels > 0:
            with entered(folder, name) as inner:
                yield from _below(inner, (*path, name), levels - 1)
    except (FileNotFoundError, PermissionError, HardToolError):
        return  # gone, closed to us, or made a link since its name was read
