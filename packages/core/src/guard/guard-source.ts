import { join } from "node:path";
import { isatty } from "node:tty";
import type { ProcessIdentity } from "../contract/identity.ts";
import { ProtectionUnavailable } from "../contract/protection.ts";
import type {
	ProcessSource,
	ProcessSpec,
	StartedProcess,
} from "../contract/world.ts";
import { canBeInherited } from "../os/descriptors.ts";
import { inheritedRights } from "../os/inherited-rights.ts";
import { spawnFailed } from "../os/spawn-failure.ts";
import {
	afterLoss,
	describeLoss,
	GuardChain,
	type GuardContext,
	type GuardHealth,
	HEALTHY,
	HIGHEST_DESCRIPTOR,
	mayBeTried,
} from "./guard-chain.ts";

/**
 * Starts workers below a guard; a chain that is lost is replaced at the next start.
 * With `"auto"` Node forks what the guard cannot, and everything while there is no guard to be had.
 */
export class GuardSource implements ProcessSource {
	readonly name = "guard";
	readonly #context: GuardContext;
	readonly #program: string;
	readonly #mode: "auto" | "required";
	#begun = 0;
	#health: GuardHealth = HEALTHY;
	/** By the rights that they have; more than one only where this program has changed its own. */
	readonly #serving = new Map<string, Promise<GuardChain>>();
	/** Chains that have not ended, lost ones included. */
	readonly #living = new Set<GuardChain>();
	#released = false;

	constructor(
		context: GuardContext,
		program: string,
		mode: "auto" | "required",
	) {
		this.#context = context;
		this.#program = program;
		this.#mode = mode;
	}

	/**
	 * Starts the first chain.
	 *
	 * @throws ProtectionUnavailable when it cannot be started and is required.
	 */
	async open(): Promise<void> {
		try {
			await this.#chain(inheritedRights());
		} catch (error) {
			if (this.#mode === "auto") return; // Already reported as an event.
			throw new ProtectionUnavailable(
				(error as Error).message,
				"`doctor` examines it.",
			);
		}
	}

	async start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		// The events of a start come from sockets that do not keep the program alive.
		const release = this.#context.host.keepAlive();
		try {
			return await this.#fork(spec, record);
		} finally {
			release();
		}
	}

	/** Uses the present chain, or the next one if it ended before the worker was recorded. */
	async #fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const byNode = this.#context.host.source;
		if (this.#mode === "auto" && !canHave(spec))
			return await byNode.start(spec, record);
		const known: { identity?: ProcessIdentity } = {};
		const chain = await this.#chainFor(spec);
		if (chain === undefined) return await byNode.start(spec, record);
		try {
			return await chain.fork(spec, (identity) => {
				known.identity = identity;
				record(identity);
			});
		} catch (error) {
			if (known.identity !== undefined || !chain.isLost) throw error;
			const next = (await this.#chainFor(spec)) ?? byNode;
			return await (next instanceof GuardChain
				? next.fork(spec, record)
				: next.start(spec, record));
		}
	}

	/** `undefined` where there is none, and Node has to fork. */
	async #chainFor(spec: ProcessSpec): Promise<GuardChain | undefined> {
		const rights = inheritedRights();
		try {
			if (!this.#serving.has(rights)) this.#assertTried();
			return await this.#chain(rights);
		} catch (error) {
			if (this.#mode === "auto" && !this.#released) return undefined;
			throw spawnFailed(error as Error, spec);
		}
	}

	/** @throws Error while none is tried, since too many were lost. */
	#assertTried(): void {
		const { clock } = this.#context;
		if (!mayBeTried(this.#health, clock.now()))
			throw new Error(
				`${this.#health.failures} guards in a row were lost; Snakepit tries another one within a minute`,
			);
	}

	/**
	 * Returns the present chain with these rights, or starts one. One whose socket was removed keeps the workers that it
	 * has, and gets no more.
	 *
	 * @throws Error with the reason if it cannot be started.
	 */
	async #chain(rights: string): Promise<GuardChain> {
		const serving = this.#serving.get(rights);
		const chain = await (serving ?? this.#serve(rights));
		if (chain.isReachable) return chain;
		// Of several starts that see it together, the first one asks for another.
		return await (this.#serving.get(rights) === serving
			? this.#serve(rights)
			: this.#chain(rights));
	}

	#serve(rights: string): Promise<GuardChain> {
		const begun = this.#begin(() => {
			// One that was replaced before it was lost serves nobody.
			if (this.#serving.get(rights) === begun) this.#serving.delete(rights);
		});
		this.#serving.set(rights, begun);
		return begun;
	}

	/** Ends every chain with everything below it; resolves to what is left of them, which cannot be killed. */
	async release(): Promise<readonly ProcessIdentity[]> {
		this.#released = true;
		// One that was not to be had leaves nothing.
		await Promise.allSettled(this.#serving.values());
		const ends = [...this.#living].map((chain) => chain.end());
		return (await Promise.all(ends)).flat();
	}

	/** For the exit of this program; see {@link GuardChain.killNow}. */
	killNow(pause: (ms: number) => void): void {
		for (const chain of this.#living) chain.killNow(pause);
	}

	async #begin(forget: () => void): Promise<GuardChain> {
		const { clock, runDirectory, emit } = this.#context;
		if (this.#released) throw new Error("the run has ended");
		const restarts = this.#begun++;
		const begunMs = clock.now();
		let readyMs: number | undefined;
		let isLost = false;
		const lost = (): void => {
			// Called twice for one that failed while it started: the next one may already serve.
			if (isLost) return;
			isLost = true;
			forget();
			if (readyMs !== undefined && !this.#released)
				this.#lost(clock.now() - readyMs);
		};
		try {
			const begun = await GuardChain.start(
				this.#context,
				this.#program,
				join(runDirectory, `g${restarts}`),
				join(runDirectory, "incidents.guard.jsonl"),
				lost,
			);
			readyMs = clock.now();
			this.#watch(begun);
			emit({
				type: "protection.started",
				wallMs: clock.wall(),
				protection: "guard",
				pid: begun.pid,
				durationMs: readyMs - begunMs,
				restarts,
			});
			return begun;
		} catch (error) {
			lost();
			this.#failed(0);
			this.#unavailable(
				`It could not be started: ${(error as Error).message}.`,
			);
			throw error;
		}
	}

	#watch(chain: GuardChain): void {
		const { clock, emit } = this.#context;
		this.#living.add(chain);
		void chain.gone.then(() => this.#living.delete(chain));
		void chain.ended.then((exit) => {
			const about = { protection: "guard", pid: chain.pid, exit } as const;
			const end = this.#released
				? ({ how: "released" } as const)
				: ({ how: "lost", loss: chain.verdict ?? describeLoss(exit) } as const);
			const wallMs = clock.wall();
			emit({ type: "protection.ended", wallMs, ...about, ...end });
		});
	}

	#lost(livedMs: number): void {
		this.#failed(livedMs);
		if (!mayBeTried(this.#health, this.#context.clock.now()))
			this.#unavailable(
				`${this.#health.failures} guards in a row were lost within seconds of their start.`,
			);
	}

	#failed(livedMs: number): void {
		const nowMs = this.#context.clock.now();
		this.#health = afterLoss(this.#health, livedMs, nowMs);
	}

	#unavailable(why: string): void {
		const { clock, emit } = this.#context;
		const until = mayBeTried(this.#health, clock.now())
			? "Until the next worker start, which tries another one,"
			: "For a minute";
		const meanwhile =
			this.#mode === "auto"
				? "workers start without a guard: if this program is killed in that time, processes that left their worker's group may survive."
				: 'no worker starts, because the run has guard: "required".';
		emit({
			type: "protection.unavailable",
			wallMs: clock.wall(),
			protection: "guard",
			reason: `${why} ${until} ${meanwhile}`,
		});
	}
}

/** Whether a guard can give the program what it is to find open; this program's terminal is not among that. */
function canHave(spec: ProcessSpec): boolean {
	const wantsTerminal = spec.stdin === "terminal" && isatty(0);
	return !wantsTerminal && canBeInherited(spec, HIGHEST_DESCRIPTOR);
}
