"""The command line: its parts as functions, its commands in this process, and processes for signals."""
