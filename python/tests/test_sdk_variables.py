"""Which of `OTEL_*` ask for an SDK, and what is added to them."""

from __future__ import annotations

import pytest

from snakepit_bridge.telemetry.sdk import additions

ALL = {f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("TRACES", "METRICS", "LOGS")}
HTTP = {
    f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL": "http/protobuf"
    for signal in ("TRACES", "METRICS", "LOGS")
}
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "shop"}, None),
        ({"OTEL_TRACES_EXPORTER": "none"}, None),
        ({**ENDPOINT, **dict.fromkeys(ALL, "none")}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": " TRUE "}, None),
        ({"OTEL_TRACES_EXPORTER": "console"}, {}),
        ({"OTEL_CONFIG_FILE": "otel.yaml"}, {}),
        (ENDPOINT, {**ALL, **HTTP}),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ALL),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"},
            {
                "OTEL_TRACES_EXPORTER": "otlp",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
            },
        ),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "none"},
            {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf"},
        ),
    ],
)
def test_an_endpoint_or_an_exporter_asks_for_an_sdk(
    environment: dict[str, str], added: dict[str, str] | None
) -> None:
    assert additions(environment, http_is_installed=True) == added


def test_without_the_exporter_for_http_the_sdk_chooses() -> None:
    assert additions(ENDPOINT, http_is_installed=False) == ALL
