"""How much tests try: all of it in `npx pnpm@12 check`, what there is time for in `test`."""

from __future__ import annotations

import os

from hypothesis import settings

# See scripts/test-effort.ts.
THOROUGH = os.environ.get("SNAKEPIT_TEST_THOROUGH") == "1"

# For single values: what depends on no order needs no long search.
SINGLE_VALUES = settings(max_examples=100 if THOROUGH else 40)
