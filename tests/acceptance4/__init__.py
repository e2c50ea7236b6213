"""The whole plan language on real tools, as its description promises it."""
