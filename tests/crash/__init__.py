"""Real processes killed at every boundary and at random moments, and resumed until done."""
