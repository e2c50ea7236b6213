"""planrail."""
