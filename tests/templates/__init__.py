"""Templates: loading, matching, filling, saving, and runs that need no planner."""
