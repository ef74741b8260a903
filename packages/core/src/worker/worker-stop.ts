import type { Connection } from "../contract/connection.ts";
import type { WorkerRef } from "../contract/events.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { Killer } from "../contract/process-registry.ts";
import type { World } from "../contract/world.ts";
import { lostParentOf } from "../process/killer-of.ts";
import {
	StopLadder,
	type StopManner,
	type StopOutcome,
	type StopPlan,
} from "../process/stop-ladder.ts";
import { EndCause } from "./end-cause.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** The end of one worker: why, in which manner, and what caused it. */
export class WorkerStop {
	readonly cause: EndCause = new EndCause();
	/** For a worker that is condemned. */
	manner: StopManner = "forced";
	readonly #ladder: StopLadder;

	constructor(ref: WorkerRef, plan: StopPlan, world: World) {
		const { clock, emit } = world;
		this.#ladder = new StopLadder(plan, world, {
			signalled: (signal) => this.cause.signalled(signal, "stop_ladder"),
			stepped: (step, sent) =>
				emit({
					type: "worker.stop_step",
					wallMs: clock.wall(),
					...ref,
					step,
					sent,
				}),
			spared: (groupId, pids) =>
				emit({
					type: "worker.group_spared",
					wallMs: clock.wall(),
					...ref,
					groupId,
					pids,
				}),
		});
	}

	/** Begins to end it; when that has begun already, kills it at once. */
	climb(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		manner: StopManner,
	): Promise<StopOutcome> {
		const target = { connection, ...belongings };
		return this.#ladder.climb(target, manner);
	}

	/** Its end was seen, or will not be. Resolves to what ended it, when nothing is left of its group. */
	async finish(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		exit: ProcessExit | undefined,
	): Promise<Killer> {
		const target = { connection, ...belongings };
		await this.#ladder.finish(target);
		return this.cause.conclude(exit, lostParentOf(belongings.process));
	}

	/** Kills its group in this very turn, for the exit of the host. */
	killNow(process: WorkerBelongings["process"] | undefined): void {
		this.cause.presume("host_exit");
		if (process?.signal("SIGKILL", "group") === "sent")
			this.cause.signalled("SIGKILL", "application_cleanup");
	}
}
