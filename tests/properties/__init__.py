"""Random plans, tools, interruptions and answers, held against a serial reference model."""
