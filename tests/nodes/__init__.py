"""Nodes and what they decide, without a graph."""
