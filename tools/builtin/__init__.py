"""Tools for common work, each with an honest policy: files of one folder, the web, databases, pages, mail."""

from tools.builtin.fetch import WebLimits
from tools.builtin.files import FileLimits, file_tools
from tools.builtin.html_page import PageLimits, html_tool
from tools.builtin.mail import email_tool
from tools.builtin.mail_settings import SmtpSettings
from tools.builtin.office import office
from tools.builtin.search import web_search
from tools.builtin.sql import sql_tool, tables_in
from tools.builtin.sql_results import QueryLimits
from tools.builtin.web import http_get

__all__ = [
    "FileLimits",
    "PageLimits",
    "QueryLimits",
    "SmtpSettings",
    "WebLimits",
    "email_tool",
    "file_tools",
    "html_tool",
    "http_get",
    "office",
    "sql_tool",
    "tables_in",
    "web_search",
]
