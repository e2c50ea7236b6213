"""Tools for common work, each with an honest policy: files of one folder, the web."""

from tools.builtin.files import FileLimits, file_tools

__all__ = ["FileLimits", "file_tools"]
