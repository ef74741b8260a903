"""OpenTelemetry, where it is installed: a span per call, context both ways, log ids.

Only `otel_tracing`, `exceptions` and `sdk` import it, and only they are imported late.
"""
