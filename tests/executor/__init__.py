"""Steps as they run: what models choose for them, and what code makes of it."""
