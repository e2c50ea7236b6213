"""The tools that planrail brings along."""
