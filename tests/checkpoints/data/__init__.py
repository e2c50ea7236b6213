"""Stored files of earlier formats, and the scripts that made them."""
