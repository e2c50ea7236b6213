"""Pure decisions: frozen input, no clock, no I/O, no model."""
