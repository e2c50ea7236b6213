"""Acceptance tests: the product as its users meet it, from the command line and from Python."""
