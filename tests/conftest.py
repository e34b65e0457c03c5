"""What every test stands on: properties that are tried the same way each time, however slowly."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is not a fault of the code, and a test that failed must fail again.
settings.register_profile("mimohist", deadline=None, derandomize=True)
settings.load_profile("mimohist")
