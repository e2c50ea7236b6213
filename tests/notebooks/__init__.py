"""The walkthroughs run from their first cell to their last."""
