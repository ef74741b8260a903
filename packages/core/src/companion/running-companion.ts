import type { Clock } from "../contract/clock.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { PoolProcessSlot, SlotCompanion } from "../contract/launch.ts";
import type { CloseManner } from "../contract/states.ts";
import type { ProcessHost } from "../contract/world.ts";
import { resolvesWithin } from "../deadline.ts";
import { outbox } from "../outbox.ts";
import type { PoolProcess } from "../worker/pool-process.ts";
import type { TiedCompanion } from "../worker/worker-ties.ts";

/** A companion that was ready, until nothing of it is left. */
export class RunningCompanion implements TiedCompanion {
	readonly facts: SlotCompanion;
	/** Resolves when nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #own: PoolProcess;
	readonly #clock: Clock;
	readonly #host: ProcessHost;
	readonly #followers = new Set<(exit: ProcessExit) => void>();
	#exit: ProcessExit | undefined;

	constructor(
		own: PoolProcess,
		{ incarnation, directory }: PoolProcessSlot,
		{ clock, host }: { readonly clock: Clock; readonly host: ProcessHost },
	) {
		const { pid, ready } = own;
		this.facts = { incarnation, directory, pid, ready };
		this.#own = own;
		this.#clock = clock;
		this.#host = host;
		this.ended = own.whenEnded((exit) => {
			this.#exit = exit;
			outbox.during(() => {
				for (const follow of this.#followers) follow(exit);
			});
		});
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#own.how;
	}

	whenGone(action: (exit: ProcessExit) => void): () => void {
		if (this.#exit !== undefined) action(this.#exit);
		this.#followers.add(action);
		return () => this.#followers.delete(action);
	}

	async endWithin(ms: number): Promise<ProcessExit | undefined> {
		await resolvesWithin(this.#own.process.exited, ms, this.#clock);
		return this.#exit;
	}

	isEnding(): boolean {
		if (this.#exit !== undefined) return true;
		const facts = this.#host.facts(this.facts.pid);
		// A process that ends gives its memory back before its sockets are closed.
		return facts?.condition !== "alive" || facts.residentBytes === 0;
	}

	/** Ends it; resolves when nothing of it is left, or it cannot die. A second call that is forced kills it. */
	end(manner: CloseManner, killAfterMs: number): Promise<void> {
		const signal = manner === "gentle" ? "SIGTERM" : "SIGKILL";
		return this.#own.release(
			() => this.#own.signal(signal, "stop_ladder"),
			...([killAfterMs, this.ended] as const),
		);
	}

	/** Kills it with its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#own.signal("SIGKILL", "application_cleanup");
	}
}
