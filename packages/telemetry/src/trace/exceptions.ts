import type { Span } from "@opentelemetry/api";
import { type SnakepitError, ToolError } from "@snakepit/core";
import { codeOf } from "../catalogue/worker-events.ts";
import { failed, type Spans } from "./spans.ts";

/** Records an error on a span: the stable code as `error.type`, and the worker's own type and traceback. */
export function recordError(spans: Spans, span: Span, error: unknown): void {
	if (!span.isRecording()) return;
	const { limits } = spans;
	const message = limits.text(messageOf(error));
	failed(span, limits.name(codeOf(error)), message);
	const remote = error instanceof ToolError ? error.remote : undefined;
	const stack = remote?.traceback ?? (error as Partial<Error> | null)?.stack;
	spans.event(span, "exception", {
		"exception.type": limits.name(
			remote?.type || (error as Partial<Error> | null)?.name || "Error",
		),
		"exception.message": remote ? limits.text(remote.message) : message,
		...(typeof stack === "string" &&
			stack !== "" && { "exception.stacktrace": limits.traceback(stack) }),
	});
}

/** The same without an exception event, which is on the span where the error happened. */
export function noteError(
	spans: Spans,
	span: Span,
	error: SnakepitError,
): void {
	failed(span, error.code, spans.limits.text(error.message));
}

function messageOf(error: unknown): string {
	if (error instanceof Error) return error.message;
	try {
		return String(error);
	} catch {
		return "a value that cannot be shown";
	}
}
