"""Models over HTTP, against a scripted server."""
