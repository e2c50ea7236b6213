"""Tools for common work, each with an honest policy: files of one folder, the web."""

from tools.builtin.fetch import WebLimits
from tools.builtin.files import FileLimits, file_tools
from tools.builtin.office import office
from tools.builtin.search import web_search
from tools.builtin.web import http_get

__all__ = ["FileLimits", "WebLimits", "file_tools", "http_get", "office", "web_search"]
