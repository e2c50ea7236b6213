"""The compiled graph where others use it: inside chains and graphs, stopped, copied, forked."""
