"""The walkthroughs: what each leaves behind, as a user runs it."""
