"""Folders entered and files opened name by name, so that no link on the way is ever followed.

Where the operating system has `dir_fd`, each folder is opened from the one above it and a link made after a
check changes nothing. Elsewhere (Windows) each name is looked at right before it is used.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.builtin.paths import OUTSIDE
from tools.errors import HardToolError

_WITH_DIR_FD = {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd
HAS_DIR_FD = _WITH_DIR_FD and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = getattr(os, "O_DIRECTORY", 0)
PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # else opening a pipe waits for whoever writes into it
_REPARSE_POINT = getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)


@dataclass(frozen=True)
class Folder:
    """One open folder.

    Attributes:
        path: Where it is; used for access only where `descriptor` is None.
        descriptor: The open folder itself.
        shown: Its path within the workspace, for messages.
    """

    path: Path
    descriptor: int | None
    shown: str

    def place(self, name: str) -> str:
        """Return what to give the operating system for a name in here, together with `descriptor`."""
        return name if self.descriptor is not None else str(self.path / name)

    def named(self, name: str) -> str:
        """Return the path within the workspace of a name in here."""
        return f"{self.shown}/{name}" if self.shown else name

    def mode(self, name: str) -> int | None:
        """Return the type and permission bits of a name in here, None when there is nothing.

        Raises:
            HardToolError: "outside_workspace" for a link.
        """
        try:
            found = os.stat(self.place(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(found.st_mode) or getattr(found, "st_file_attributes", 0) & _REPARSE_POINT:
            raise HardToolError(OUTSIDE, f"{self.named(name)!r} is a link, and links are not followed")
        return found.st_mode


@contextlib.contextmanager
def entered(folder: Folder, name: str) -> Iterator[Folder]:
    """Open a folder in a folder.

    Raises:
        HardToolError: "not_found", "not_a_folder", "outside_workspace" for a link.
    """
    mode = folder.mode(name)
    if mode is None:
        raise _absent(folder, name)
    if not stat.S_ISDIR(mode):
        raise HardToolError("not_a_folder", f"{folder.named(name)!r} is no folder")
    path, shown = folder.path / name, folder.named(name)
    if folder.descriptor is None:
        yield Folder(path, None, shown)
        return
    with _linkless(folder, name):
        descriptor = os.open(name, os.O_RDONLY | DIRECTORY | NOFOLLOW | PLAIN, dir_fd=folder.descriptor)
    with closing(descriptor):
        yield Folder(path, descriptor, shown)


@contextlib.contextmanager
def opened(folder: Folder, name: str) -> Iterator[int]:
    """Open a regular file for reading; yields its descriptor.

    Raises:
        HardToolError: "not_found", "is_a_folder", "not_a_file", "outside_workspace" for a link.
    """
    mode = folder.mode(name)
    if mode is None:
        raise _absent(folder, name)
    check_is_file(folder, name, mode)
    flags = os.O_RDONLY | NOFOLLOW | _NO_WAITING | PLAIN
    with _linkless(folder, name):
        descriptor = os.open(folder.place(name), flags, dir_fd=folder.descriptor)
    with closing(descriptor):
        check_is_file(folder, name, os.fstat(descriptor).st_mode)
        yield descriptor


@contextlib.contextmanager
def _linkless(folder: Folder, name: str) -> Iterator[None]:
    """Tell what became a link between the look and the opening as if it had been one all along."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            raise HardToolError(
                OUTSIDE, f"{folder.named(name)!r} is a link, and links are not followed"
            ) from None
        raise


@contextlib.contextmanager
def closing(descriptor: int) -> Iterator[None]:
    """Close a descriptor at the end."""
    try:
        yield
    finally:
        os.close(descriptor)


def _absent(folder: Folder, name: str) -> HardToolError:
    return HardToolError("not_found", f"there is no {folder.named(name)!r}; list_files shows what there is")


def check_is_file(folder: Folder, name: str, mode: int) -> None:
    """Refuse what is no regular file.

    Raises:
        HardToolError: "is_a_folder" or "not_a_file".
    """
    if stat.S_ISDIR(mode):
        raise HardToolError("is_a_folder", f"{folder.named(name)!r} is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise HardToolError("not_a_file", f"{folder.named(name)!r} is a device or a pipe, and no file")
