"""Lanes: how steps run inside one superstep, from claim to journaled result."""
