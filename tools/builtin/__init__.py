"""Tools for common work, each with an honest policy: files of one folder, the web."""

from tools.builtin.fetch import WebLimits
from tools.builtin.files import FileLimits, file_tools
from tools.builtin.http import http_get

__all__ = ["FileLimits", "WebLimits", "file_tools", "http_get"]
