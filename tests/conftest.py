"""Property tests look for wrong answers, on machines of any speed: slowness is not one."""

from hypothesis import HealthCheck, settings

settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")
