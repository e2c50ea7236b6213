"""Rates, breakers, kept results, fallbacks and the order of starts."""
