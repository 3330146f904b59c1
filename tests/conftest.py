"""How Hypothesis runs everywhere: no clock decides whether a test passes.

On a machine where it runs for the first time it makes tables of Unicode, which takes seconds.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "foldlog", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("foldlog")
