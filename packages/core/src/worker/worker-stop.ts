import type { Connection } from "../adapter.ts";
import type { WorkerRef } from "../pool-events.ts";
import type { Killer } from "../registry/process-registry.ts";
import type { ProcessExit } from "../world.ts";
import { EndCause } from "./end-cause.ts";
import {
	StopLadder,
	type StopManner,
	type StopOutcome,
	type StopWorld,
} from "./stop-ladder.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** The end of one worker: why, in which manner, and what caused it. */
export class WorkerStop {
	readonly cause: EndCause = new EndCause();
	/** For a worker that is condemned. */
	manner: StopManner = "forced";
	readonly #ref: WorkerRef;
	readonly #ladder: StopLadder;

	constructor(ref: WorkerRef, killAfterMs: number, world: StopWorld) {
		this.#ref = ref;
		this.#ladder = new StopLadder(killAfterMs, world, (signal) =>
			this.cause.signalled(signal, "stop_ladder"),
		);
	}

	/** Begins to end it; when that has begun already, kills it at once. */
	climb(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		manner: StopManner,
	): Promise<StopOutcome> {
		const target = { ref: this.#ref, connection, ...belongings };
		return this.#ladder.climb(target, manner);
	}

	/** Its end was seen, or will not be. Resolves to what ended it, when nothing is left of its group. */
	async finish(
		belongings: WorkerBelongings,
		connection: Connection | undefined,
		exit: ProcessExit | undefined,
	): Promise<Killer> {
		const target = { ref: this.#ref, connection, ...belongings };
		await this.#ladder.finish(target);
		return this.cause.conclude(exit);
	}

	/** Kills its group in this very turn, for the exit of the host. */
	killNow(process: WorkerBelongings["process"] | undefined): void {
		this.cause.presume("host_exit");
		if (process?.signal("SIGKILL", "group") === "sent")
			this.cause.signalled("SIGKILL", "application_cleanup");
	}
}
