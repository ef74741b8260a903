"""How much tests try: all of it in `npx pnpm@12 check`, what there is time for in `test`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# See scripts/test-effort.ts.
THOROUGH = os.environ.get("SNAKEPIT_TEST_THOROUGH") == "1"

# How fast a machine is fails no test: on a fresh checkout the first value of a strategy
# waits for seconds until Hypothesis has built its table of characters. It comes before
# any other settings, which take from it what they do not say.
settings.register_profile(
    "any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_speed")

# For single values: what depends on no order needs no long search.
SINGLE_VALUES = settings(max_examples=100 if THOROUGH else 25)
