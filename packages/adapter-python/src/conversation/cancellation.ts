import type { CallOptions, Cancellation } from "@snakepit/core/adapter";

/** Returns the cancellation of a call: the pool's own, or one that follows the call's signal. */
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
