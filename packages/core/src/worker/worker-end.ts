import { SnakepitError } from "../contract/errors.ts";
import type { RetireReason } from "../contract/events.ts";
import type { EndReason } from "../contract/process-registry.ts";
import type { WorkerOccurrence, WorkerState } from "../contract/states.ts";
import type { World } from "../contract/world.ts";
import type { StopManner } from "../process/stop-ladder.ts";
import type { Worker } from "./worker.ts";

/** Reports that a worker takes no more calls. */
export function reportRetiring(
	{ ref }: Worker,
	reason: RetireReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	emit({ type: "worker.retiring", wallMs: clock.wall(), ...ref, reason });
}

/** Reports that a worker is condemned. */
export function reportCondemned(
	{ ref, cause }: Worker,
	reason: EndReason,
	{ clock, emit }: Pick<World, "clock" | "emit">,
): void {
	const wallMs = clock.wall();
	emit({
		type: "worker.condemned",
		wallMs,
		...ref,
		reason,
		message: cause.verdict,
	});
}

/** How a condemned worker is ended. */
export function mannerOf(reason: EndReason | undefined): StopManner {
	if (reason === "hung") return "dumped";
	return reason === "broken" ? "patient" : "forced";
}

/** What the end of its conversation means for a worker. */
export function endOfConversation(
	state: WorkerState,
	decided: EndReason | undefined,
	hasEndedOutput: boolean,
): { readonly reason: EndReason; readonly manner: StopManner } {
	if (state === "starting")
		return { reason: "start_failed", manner: mannerOf("start_failed") };
	const leaves = state === "draining" && decided === "exited";
	// It ends in order, perhaps: it may have something left to save.
	const manner = leaves || hasEndedOutput ? "ending" : mannerOf("broken");
	return { reason: "broken", manner };
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
