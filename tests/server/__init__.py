"""The LangGraph server with the shipped configuration, spoken to through its SDK."""
