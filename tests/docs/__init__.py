"""Documents that say what plans do are run."""
