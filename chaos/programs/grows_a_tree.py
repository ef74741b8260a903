"""Leaves every kind of descendant behind and ends."""

import descendants

descendants.child()
descendants.child_that_ignores_sigterm()
descendants.daemon_with_its_environment()
descendants.daemon_without_anything()
