import type { SnakepitError } from "../errors.ts";
import type { Clock } from "../world.ts";
import type { Call } from "./call.ts";
import { aborted, timedOut } from "./call-errors.ts";

/** Watches for the caller's abort and the deadline, until `call.unwatch`. Settles at once when it is aborted already. */
export function watchCall(
	call: Call,
	pool: string,
	clock: Clock,
	settle: (call: Call, error: SnakepitError) => void,
): void {
	const { signal, deadlineMs } = call;
	if (signal === undefined && deadlineMs === undefined) return;
	const onAbort = (): void => settle(call, aborted(pool, call, signal?.reason));
	if (signal?.aborted === true) {
		onAbort();
		return;
	}
	signal?.addEventListener("abort", onAbort, { once: true });
	const timer =
		deadlineMs === undefined
			? undefined
			: clock.after(Math.max(0, deadlineMs - clock.now()), () =>
					settle(call, timedOut(pool, call, clock.now())),
				);
	call.unwatch = () => {
		signal?.removeEventListener("abort", onAbort);
		timer?.cancel();
	};
}
