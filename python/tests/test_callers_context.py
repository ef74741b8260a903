"""The caller's context is read as OpenTelemetry's own propagators read it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from support.effort import SINGLE_VALUES

from snakepit_bridge.telemetry.otel_tracing import callers_context


def digits(count: int) -> st.SearchStrategy[str]:
    """Returns hexadecimal digits, often zeros, and sometimes others than W3C's."""
    alphabet = st.sampled_from(["0", "0123456789abcdef", "0123456789ABCDEFg_ +"])
    return alphabet.flatmap(lambda of: st.text(of, min_size=count, max_size=count))


TRACEPARENTS = st.one_of(
    st.text(max_size=70),
    st.builds(
        "{}-{}-{}-{}{}".format,
        st.one_of(st.just("00"), digits(2)),
        digits(32),
        digits(16),
        digits(2),
        st.sampled_from(["", "", "", "-", "-more", " ", "\t", "\n", "x"]),
    ),
)
CARRIERS = st.fixed_dictionaries(
    {},
    optional={
        "traceparent": TRACEPARENTS,
        "tracestate": st.sampled_from(["", "a=1,b=2", "nonsense"]),
        "baggage": st.sampled_from(["", "tenant=acme", "=;,"]),
        "else": st.just("x"),
    },
)


@SINGLE_VALUES
@given(CARRIERS)
def test_context_headers_are_read_as_the_propagators_read_them(
    carrier: dict[str, str],
) -> None:
    read = callers_context(carrier, Context())
    expected = TraceContextTextMapPropagator().extract(carrier, Context())
    expected = W3CBaggagePropagator().extract(carrier, expected)
    span, expected_span = (
        trace.get_current_span(context).get_span_context()
        for context in (read, expected)
    )
    assert tuple(span)[:4] == tuple(expected_span)[:4]
    assert span.trace_state.to_header() == expected_span.trace_state.to_header()
    assert baggage.get_all(read) == baggage.get_all(expected)
