"""The SDK behind OpenTelemetry's API: configured by `OTEL_*`, ended in time."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from snakepit_bridge.boot.launch_message import TelemetrySetting
from snakepit_bridge.telemetry import names

__all__ = ["additions", "configure", "resource_attributes", "shut_down"]

_SIGNALS = ("TRACES", "METRICS", "LOGS")
# The API's part of each signal, with the function that returns its provider.
_PROVIDERS = {
    "opentelemetry.trace": "get_tracer_provider",
    "opentelemetry.metrics": "get_meter_provider",
    "opentelemetry._logs": "get_logger_provider",
}

_RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"
_HTTP_EXPORTER = "opentelemetry.exporter.otlp.proto.http"

_logger = logging.getLogger(__name__)


def configure(incarnation: str, setting: TelemetrySetting) -> None:
    """Configures the SDK if `OTEL_*` names an exporter and no other code has done it.
    Then runs the installed instrumentors, if the host wants that and there is an SDK.
    Errors are logged: a worker without telemetry still works.
    """
    _set_sdk_up(incarnation, setting)
    if setting.instruments:
        from snakepit_bridge.telemetry import instrumentors

        instrumentors.run(
            has_sdk=any(_is_configured(provider) for provider in _providers())
        )


def _set_sdk_up(incarnation: str, setting: TelemetrySetting) -> None:
    added = additions(os.environ, http_is_installed=_is_installed(_HTTP_EXPORTER))
    if added is None or any(_is_configured(provider) for provider in _providers()):
        return
    if not _is_installed("opentelemetry.sdk"):
        _logger.info("OTEL_* names an exporter, but opentelemetry-sdk is not installed")
        return
    try:
        with _environment(added):
            _configure_sdk(incarnation, setting)
    except Exception:
        _logger.exception(
            "no telemetry: the SDK could not be configured from OTEL_*; correct it, "
            "or configure it in a function under @on_startup"
        )


def additions(
    environ: Mapping[str, str], *, http_is_installed: bool
) -> dict[str, str] | None:
    """Returns the variables to add so that the SDK exports as `environ` requests.

    None where it requests nothing. An endpoint alone means OTLP, and OTLP without a
    protocol means HTTP, as the specification has it and the host's SDK does.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if environ.get("OTEL_CONFIG_FILE"):
        return {}
    added: dict[str, str] = {}
    wanted = False
    for signal in _SIGNALS:
        exporter = environ.get(f"OTEL_{signal}_EXPORTER", "").strip()
        endpoints = (
            environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"),
            environ.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"),
        )
        if not exporter and any(endpoints):
            exporter = added[f"OTEL_{signal}_EXPORTER"] = "otlp"
        wanted = wanted or exporter.lower() not in ("", "none")
        protocol = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"
        chosen = environ.get(protocol) or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        if exporter == "otlp" and http_is_installed and not chosen:
            added[protocol] = "http/protobuf"
    return added if wanted else None


def shut_down(timeout: float) -> None:
    """Shuts down the providers of an SDK, which send their data, within some seconds.

    An SDK's own time limits are longer than a worker's grace, and some are not kept:
    so it happens in threads, and waiting for them is limited. A second shut-down,
    by `atexit`, finds nothing to do.
    """
    threads = [
        threading.Thread(target=_end, args=(provider,), daemon=True)
        for provider in _providers()
        if hasattr(provider, "shutdown")
    ]
    deadline = time.monotonic() + timeout
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        _logger.warning("some telemetry was not sent within %g s", timeout)


def _end(provider: Any) -> None:
    try:
        provider.shutdown()
    except BaseException as error:  # noqa: BLE001 - exporters are user code
        _logger.warning("telemetry could not be shut down: %r", error)


def _providers() -> Iterator[Any]:
    """Yields the provider of each signal whose API was imported."""
    for module, getter in _PROVIDERS.items():
        if module in sys.modules:
            yield getattr(sys.modules[module], getter)()


def _is_configured(provider: object) -> bool:
    # Before configuration, the API returns proxies; not all of these classes are
    # public.
    return "Proxy" not in type(provider).__name__


def resource_attributes(
    environ: Mapping[str, str], incarnation: str, service_name: str | None
) -> dict[str, str | int]:
    """Returns what the resource of a worker has, except what `environ` says of it."""
    attributes: dict[str, str | int] = {
        names.SERVICE_INSTANCE_ID: incarnation,
        names.PROCESS_PID: os.getpid(),
        names.HOST_NAME: socket.gethostname(),
    }
    given = {
        pair.split("=", 1)[0].strip()
        for pair in environ.get(_RESOURCE_ATTRIBUTES, "").split(",")
    }
    attributes = {
        name: value for name, value in attributes.items() if name not in given
    }
    # The variables that a worker inherits are those of its host.
    if service_name is not None:
        attributes[names.SERVICE_NAME] = service_name
    return attributes


def _configure_sdk(incarnation: str, setting: TelemetrySetting) -> None:
    from opentelemetry.sdk import _configuration

    # What the SDK provides for is a subclass, as opentelemetry-distro has one.
    class Configurator(_configuration._OTelSDKConfigurator):
        """The SDK's own reading of `OTEL_*`."""

    configurator: Any = Configurator
    options: dict[str, Any] = {}
    if not os.environ.get("OTEL_CONFIG_FILE"):
        options["resource_attributes"] = resource_attributes(
            os.environ, incarnation, setting.service_name
        )
    configurator().configure(**options)


@contextlib.contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    """Has variables set for a while; what tools start does not see them."""
    try:
        os.environ.update(added)
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
