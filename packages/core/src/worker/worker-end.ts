import { SnakepitError } from "../errors.ts";
import type { RetireReason } from "../pool-events.ts";
import type { EndReason } from "../registry/process-registry.ts";
import type { WorkerOccurrence } from "../worker-state.ts";
import type { World } from "../world.ts";
import type { Worker } from "./worker.ts";

/** Tells that a worker takes no more calls. */
export function tellRetiring(
	{ ref }: Worker,
	reason: RetireReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	emit({ type: "worker.retiring", wallMs: clock.wall(), ...ref, reason });
}

/** Tells that a worker has to go. */
export function tellCondemned(
	{ ref, verdict }: Worker,
	reason: EndReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	const wallMs = clock.wall();
	emit({
		type: "worker.condemned",
		wallMs,
		...ref,
		reason,
		message: verdict,
	});
}

export function impossibleStep(
	{ ref, state }: Worker,
	occurrence: WorkerOccurrence,
): SnakepitError {
	return new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "maybe",
		message: `Worker ${ref.workerId} was ${state} when ${occurrence} happened. This is a defect in Snakepit: please report it.`,
	});
}
