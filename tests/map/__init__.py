"""Map steps: the same step for each item of a list."""
