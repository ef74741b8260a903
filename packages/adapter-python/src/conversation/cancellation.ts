import type { CallOptions, Cancellation } from "@snakepit/core/adapter";

/** Whether a call shall end: as the pool says it, or as its signal does. */
export function cancellationOf({
	cancellation,
	signal,
}: CallOptions): Cancellation {
	return (
		cancellation ?? {
			get isRequested() {
				return signal.aborted;
			},
			whenRequested: (action) =>
				signal.addEventListener("abort", () => action(signal.reason), {
					once: true,
				}),
		}
	);
}
