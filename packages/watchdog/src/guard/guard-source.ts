import { join } from "node:path";
import {
	type ProcessIdentity,
	type ProcessSource,
	type ProcessSpec,
	type StartedProcess,
	spawnFailed,
} from "@snakepit/core/infrastructure";
import type { ProtectionContext } from "@snakepit/core/protection";
import { GuardChain } from "./guard-chain.ts";

/** Starts workers below a guard; a chain that is lost is replaced at the next start. */
export class GuardSource implements ProcessSource {
	readonly name = "guard";
	readonly #context: ProtectionContext;
	readonly #program: string;
	#begun = 0;
	#serving: Promise<GuardChain> | undefined;
	/** Chains that have not ended, lost ones included. */
	readonly #living = new Set<GuardChain>();
	#released = false;

	constructor(context: ProtectionContext, program: string) {
		this.#context = context;
		this.#program = program;
	}

	async start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		// The events of a start come from sockets that do not keep the program alive.
		const letGo = this.#context.host.keepAlive();
		try {
			return await this.#fork(spec, record);
		} finally {
			letGo();
		}
	}

	/** Uses the present chain, or the next one if it ended before the worker was recorded. */
	async #fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const known: { identity?: ProcessIdentity } = {};
		const chain = await this.#chainFor(spec);
		try {
			return await chain.fork(spec, (identity) => {
				known.identity = identity;
				record(identity);
			});
		} catch (error) {
			if (known.identity !== undefined || !chain.isLost) throw error;
			return await (await this.#chainFor(spec)).fork(spec, record);
		}
	}

	#chainFor(spec: ProcessSpec): Promise<GuardChain> {
		return this.chain().catch((error: Error) => {
			throw spawnFailed(error, spec);
		});
	}

	/**
	 * Returns the present chain, or starts one.
	 *
	 * @throws Error with the reason if it cannot be started.
	 */
	chain(): Promise<GuardChain> {
		this.#serving ??= this.#begin();
		return this.#serving;
	}

	/** Ends every chain with everything below it; resolves when nothing is left of them. */
	async release(): Promise<void> {
		this.#released = true;
		await this.#serving?.catch(() => {}); // It was not to be had, and leaves nothing.
		await Promise.all([...this.#living].map((chain) => chain.end()));
	}

	async #begin(): Promise<GuardChain> {
		const { clock, runDirectory, emit } = this.#context;
		if (this.#released) throw new Error("the run has ended");
		const restarts = this.#begun++;
		const begunMs = clock.now();
		let begun: GuardChain | undefined;
		const lost = (): void => {
			// Called twice for one that failed while it started: the next one may already serve.
			if (this.#begun === restarts + 1) this.#serving = undefined;
		};
		try {
			begun = await GuardChain.start(
				this.#context,
				this.#program,
				join(runDirectory, `g${restarts}`),
				join(runDirectory, "incidents.guard.jsonl"),
				lost,
			);
		} catch (error) {
			lost();
			throw error;
		}
		this.#watch(begun);
		emit({
			type: "protection.started",
			wallMs: clock.wall(),
			protection: "guard",
			pid: begun.pid,
			durationMs: clock.now() - begunMs,
			restarts,
		});
		return begun;
	}

	#watch(chain: GuardChain): void {
		this.#living.add(chain);
		void chain.ended.then((exit) => {
			this.#living.delete(chain);
			this.#context.emit({
				type: "protection.ended",
				wallMs: this.#context.clock.wall(),
				protection: "guard",
				pid: chain.pid,
				exit,
				how: this.#released ? "released" : "lost",
			});
		});
	}
}
