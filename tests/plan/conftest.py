"""Hypothesis on machines that are busy: how long an example takes says nothing about the code."""

from hypothesis import HealthCheck, settings

settings.register_profile("plan", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("plan")
