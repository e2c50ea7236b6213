"""Tests of the budget."""
