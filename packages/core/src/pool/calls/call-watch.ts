import type { Clock } from "../../contract/clock.ts";
import type { SnakepitError } from "../../contract/errors.ts";
import type { Call } from "./call.ts";
import { aborted, timedOut } from "./call-errors.ts";

/** Gives a call up, with an error that is made when it is known whether the call has begun. */
export type GiveUp = (
	call: Call,
	errorOf: (call: Call) => SnakepitError,
) => void;

/** Gives a call up at its abort or its deadline, until `call.unwatch`; at once when it is aborted already. */
export function watchCall(
	call: Call,
	pool: string,
	clock: Clock,
	giveUp: GiveUp,
): void {
	const { signal, deadlineMs } = call;
	const onAbort = (): void =>
		giveUp(call, () => aborted(pool, call, signal?.reason));
	if (signal?.aborted === true) {
		onAbort();
		return;
	}
	signal?.addEventListener("abort", onAbort, { once: true });
	const timer =
		deadlineMs === undefined
			? undefined
			: clock.after(Math.max(0, deadlineMs - clock.now()), () =>
					giveUp(call, () => timedOut(pool, call, clock.now())),
				);
	call.unwatch = () => {
		signal?.removeEventListener("abort", onAbort);
		timer?.cancel();
	};
}
