"""planrail's tests; `python3 .ci/dev.py test` runs them."""
