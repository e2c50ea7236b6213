"""Models behind OpenAI-compatible endpoints: what they accept, how they fail, what they say."""
