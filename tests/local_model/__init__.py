"""Office tasks for a real model behind an OpenAI-compatible endpoint."""
