"""Conditions, joins, expectations and fallbacks of steps, in runs."""
