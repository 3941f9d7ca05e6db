"""Settings for all tests."""

from hypothesis import settings

# A first call compiles for seconds: hypothesis must not take that for slowness.
settings.register_profile("forks", deadline=None)
settings.load_profile("forks")
