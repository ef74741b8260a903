"""What a Ray actor says when its node cannot host a worker."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

from snakepit_bridge.cluster import relay_actor
from snakepit_bridge.cluster.relay_actor import RelayActor


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for Ray, which the development environment does not have."""
    module = types.ModuleType("ray")
    context = types.SimpleNamespace(get_node_id=lambda: "n1")
    address = types.SimpleNamespace(get_node_ip_address=lambda: "10.0.0.7")
    monkeypatch.setattr(module, "get_runtime_context", lambda: context, raising=False)
    monkeypatch.setattr(module, "util", address, raising=False)
    monkeypatch.setitem(sys.modules, "ray", module)


@pytest.mark.usefixtures("ray")
def test_a_missing_package_is_named_with_the_node_and_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(relay_actor.REQUIRED, "no_such_module", "no-such-package")
    answer = RelayActor().start({})
    assert answer["node"]["address"] == "10.0.0.7"
    failed = answer["failed"]
    assert failed["code"] == "BRIDGE_MISSING"
    assert "(10.0.0.7) has no no-such-package for" in failed["message"]
    assert 'runtimeEnv: { pip: ["no-such-package"] }' in failed["detail"]


@pytest.mark.usefixtures("ray")
def test_a_relay_that_ends_before_it_listens_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(_setup: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", "raise SystemExit(3)"], stdout=subprocess.PIPE
        )

    monkeypatch.setattr(relay_actor, "_start_relay", ends)
    failed = RelayActor().start({})["failed"]
    assert failed["code"] == "CLUSTER_UNREACHABLE"
    assert "ended with status 3 before it listened" in failed["message"]
