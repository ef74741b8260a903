"""What the cluster has, what it says, and what of that a host gets as a reason."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster.gateway_launch import Resources
from snakepit_bridge.cluster.json_lines import LineInvalid, LineReader, line
from snakepit_bridge.cluster.ray_cluster import (
    Driver,
    Node,
    check_token,
    describe,
    located,
    missing_everywhere,
    missing_now,
    refusal,
    refuse_unknown,
    start_failure,
    token_refused,
)

NODES = [
    Node("1", "a", "10.0.0.1", {"CPU": 4, "GPU": 1}, {"CPU": 1}),
    Node("2", "b", "10.0.0.2", {"CPU": 8}, {"CPU": 8}),
]


@pytest.mark.parametrize(
    ("asked", "never", "now"),
    [
        ({"CPU": 1, "GPU": 0}, False, False),
        ({"CPU": 8}, False, False),
        ({"CPU": 4, "GPU": 1}, False, True),
        ({"CPU": 8, "GPU": 1}, True, True),
        ({"special": 1}, True, True),
        ({}, False, False),
    ],
)
def test_one_node_has_to_have_all_of_it(
    asked: dict[str, float], never: bool, now: bool
) -> None:
    assert (missing_everywhere(asked, NODES) is not None) is never
    assert (missing_now(asked, NODES) is not None) is now


def test_what_is_missing_is_said_for_each_node() -> None:
    asked: dict[str, float] = {"CPU": 8, "GPU": 1, "special": 0}
    assert missing_everywhere(asked, NODES) == (
        "a worker asks for 8 CPU, 1 GPU, and no node of the cluster has that in total"
    )
    assert describe(asked, NODES) == (
        "a (10.0.0.1): CPU 1 free of 4, GPU 0 free of 1\n"
        "b (10.0.0.2): CPU 8 free of 8, GPU 0 free of 0"
    )
    assert describe(asked, []) == "there is no node"


def test_resources_are_options_of_an_actor() -> None:
    assert Resources({"CPU": 0.5, "GPU": 2, "special": 1}).options() == {
        "num_cpus": 0.5,
        "num_gpus": 2,
        "resources": {"special": 1},
    }


def test_other_releases_are_a_version_mismatch() -> None:
    error = RuntimeError("Version mismatch: The cluster was started with: Ray: 1")
    failure = refusal(error, "h:1")
    assert failure.code == "VERSION_MISMATCH"
    assert "Ray: 1" in failure.message


def test_a_cluster_that_does_not_answer_may_ask_for_a_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    failure = refusal(ConnectionError("Failed to connect"), "h:1")
    assert failure.code == "CLUSTER_UNREACHABLE"
    assert "ConnectionError: Failed to connect" in failure.message
    assert "RAY_AUTH_MODE is not set here" in failure.detail


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "no token was sent (RAY_AUTH_MODE is not set)"),
        (
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "secret"},
            "the token of RAY_AUTH_TOKEN is wrong (RAY_AUTH_MODE is token)",
        ),
        ({"RAY_AUTH_MODE": "token"}, "the token of ~/.ray/auth_token is wrong"),
    ],
)
def test_a_cluster_that_refuses_the_token_says_which_one(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    failure = token_refused("h:1")
    assert failure.code == "CLUSTER_UNREACHABLE"
    assert words in failure.message
    assert "secret" not in failure.message + failure.detail


def test_a_token_is_checked_before_ray_begins_to_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = type("AuthenticationError", (Exception,), {})

    def client(address: str) -> None:
        raise refused(address)

    raylet = ModuleType("ray._raylet")
    monkeypatch.setattr(raylet, "GcsClient", client, raising=False)
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray._raylet", raylet)
    with pytest.raises(StartFailed, match="it asks for a token") as caught:
        check_token("h:1")
    assert caught.value.code == "CLUSTER_UNREACHABLE"
    # Anything else is Ray's to report.
    refused.__name__ = "RpcError"
    check_token("h:1")


def test_a_field_of_runtime_env_that_ray_does_not_know_is_refused() -> None:
    ray = SimpleNamespace(
        __version__="9.9",
        runtime_env=SimpleNamespace(
            RuntimeEnv=SimpleNamespace(known_fields={"pip", "env_vars"})
        ),
    )
    refuse_unknown({"pip": [], "excludes": []}, ray)
    with pytest.raises(StartFailed, match="knows no field 'pipp'") as caught:
        refuse_unknown({"pipp": ["numpy"]}, ray)
    assert caught.value.detail == "did you mean 'pip'?"


def test_an_environment_that_ray_cannot_make_has_a_code_of_its_own() -> None:
    kind = type("RuntimeEnvSetupError", (Exception,), {})
    assert start_failure(kind("no such package")).code == "RUNTIME_ENV_FAILED"
    assert start_failure(ValueError("else")).code == "CLUSTER_UNREACHABLE"


def test_lines_are_cut_wherever_they_arrive() -> None:
    data = line(a="é\udcff") + line(b=[1])
    for cut in range(len(data)):
        reader = LineReader()
        messages = [*reader.feed(data[:cut]), *reader.feed(data[cut:])]
        assert messages == [{"a": "é\udcff"}, {"b": [1]}]


@pytest.mark.parametrize(
    "data",
    [b"3\n", b"{\n", b"\xff\n", b"[" * 90 + b"\n", b"x" * 101, b"x" * 101 + b"\n"],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(LineInvalid):
        list(LineReader(limit=100).feed(data))


def test_a_run_is_where_its_latest_living_driver_is() -> None:
    names = {"10.0.0.1": "one", "10.0.0.2": "two"}
    drivers = [
        Driver("snakepit-aaaaaaa", "10.0.0.1", is_dead=True),
        Driver("snakepit-aaaaaaa", "10.0.0.2", is_dead=False),
        Driver("snakepit-bbbbbbb", "10.0.0.1", is_dead=True),
        # Its node has left the cluster, and nobody has said that it ended.
        Driver("snakepit-ccccccc", "10.0.0.3", is_dead=False),
        Driver("ddddddd", "10.0.0.1", is_dead=False),
    ]
    runs = ["aaaaaaa", "bbbbbbb", "ccccccc", "ddddddd"]
    found = [tuple(each.values()) for each in located(runs, drivers, names)]
    assert found == [
        ("aaaaaaa", {"name": "two", "address": "10.0.0.2"}, "alive"),
        ("bbbbbbb", {"name": "one", "address": "10.0.0.1"}, "gone"),
        ("ccccccc", {"name": "10.0.0.3", "address": "10.0.0.3"}, "gone"),
    ]
