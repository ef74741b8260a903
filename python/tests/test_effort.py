"""How fast a machine is fails no test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from support.effort import SINGLE_VALUES


def test_no_property_is_judged_by_the_time_that_it_takes() -> None:
    for each in (settings(), SINGLE_VALUES):
        assert each.deadline is None
        assert HealthCheck.too_slow in each.suppress_health_check
