import type { Socket } from "node:net";
import { join } from "node:path";
import type { Adapter } from "../contract/adapter.ts";
import type { ErrorCode } from "../contract/error-codes.ts";
import { SnakepitError, StartError } from "../contract/errors.ts";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type { LaunchSpec, PreloadSlot } from "../contract/launch.ts";
import { messageOf } from "../contract/thrown.ts";
import type {
	ProcessSource,
	ProcessSpec,
	StartedProcess,
} from "../contract/world.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import { inheritedRights } from "../os/inherited-rights.ts";
import {
	PoolProcess,
	type PoolProcessDependencies,
	poolProcessSlot,
} from "../worker/pool-process.ts";

/** A parent that is lost again and again is of no use: from then on workers start by themselves. */
const MOST_LOSSES = 5;

type State =
	/** There is a parent, or there will be when it is asked for. */
	| { readonly step: "preloads"; readonly serving: Promise<Parent> | undefined }
	/** Workers start by themselves, for good. */
	| { readonly step: "cold" }
	| { readonly step: "released" };

type Parent = PreloadedParent | undefined;

/** The preloaded source of a pool; `undefined` where its adapter has none. */
export function preloadedSource(
	adapter: Adapter,
	dependencies: PoolProcessDependencies,
): PreloadedSource | undefined {
	if (adapter.preload === undefined) return undefined;
	return new PreloadedSource(dependencies, adapter.preload.bind(adapter));
}

/**
 * Workers forked from a preloaded parent, which itself is started as a worker is:
 * from the same source, recorded, tied to this program's life. Where there cannot
 * be one, workers start by themselves, and an event reports why.
 */
export class PreloadedSource implements ProcessSource {
	readonly name = "preload";
	readonly #dependencies: PoolProcessDependencies;
	readonly #preload: (slot: PreloadSlot) => LaunchSpec | undefined;
	#state: State = { step: "preloads", serving: undefined };
	#begun = 0;
	#losses = 0;
	/** A parent that was started before the latest renewal does not count any more. */
	#renewals = 0;
	/** Workers of each parent that are not gone. */
	readonly #workers = new Map<PreloadedParent, number>();
	readonly #retired = new Set<PreloadedParent>();
	readonly #living = new Set<PreloadedParent>();
	readonly #starting = new AbortController();

	/** @param preload how the adapter describes its parent; nothing where its workers start by themselves. */
	constructor(
		dependencies: PoolProcessDependencies,
		preload: (slot: PreloadSlot) => LaunchSpec | undefined,
	) {
		this.#dependencies = dependencies;
		this.#preload = preload;
	}

	async start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const { host, source } = this.#dependencies.world;
		// The steps of a start are events of sockets that hold nothing open themselves.
		const release = host.keepAlive();
		try {
			const parent = await this.#parent();
			this.#starting.signal.throwIfAborted();
			if (parent === undefined) return await source.start(spec, record);
			return await this.#fork(parent, spec, record);
		} finally {
			release();
		}
	}

	/** The next start has another parent, as if there had been none yet; this one ends when its workers have. */
	renew(): void {
		const state = this.#state;
		if (state.step === "released") return;
		this.#renewals++;
		this.#losses = 0;
		this.#state = { step: "preloads", serving: undefined };
		if (state.step === "preloads")
			void state.serving?.then((parent) => {
				if (parent === undefined) return;
				this.#retired.add(parent);
				this.#releaseUnneeded(parent);
			});
	}

	/** The pool is closing: a parent that starts is ended, and no start waits for it any more. */
	abandon(): void {
		this.#starting.abort(
			new StartError({
				code: "START_WITHDRAWN",
				message: `The preloaded parent of pool ${this.#dependencies.options.name} was not waited for, because its pool is closing.`,
			}),
		);
	}

	/** Ends the parent; resolves when nothing of it is left. Its workers have ended before. */
	async release(): Promise<void> {
		const state = this.#state;
		this.#state = { step: "released" };
		this.abandon();
		if (state.step === "preloads") await state.serving;
		await Promise.all([...this.#living].map((parent) => parent.release()));
	}

	/** Kills the parent in this very turn; one that only starts dies with this program. */
	killNow(): void {
		for (const parent of this.#living) parent.killNow();
	}

	/** Forked; or started by itself where the parent went before the worker was recorded. */
	async #fork(
		parent: PreloadedParent,
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const known: { identity?: ProcessIdentity } = {};
		this.#count(parent, 1);
		try {
			const worker = await parent.fork(spec, (identity) => {
				known.identity = identity;
				record(identity);
			});
			void worker.exited.then(() => this.#count(parent, -1));
			return worker;
		} catch (error) {
			this.#count(parent, -1);
			if (known.identity !== undefined || !parent.isLost) throw error;
			return await this.#dependencies.world.source.start(spec, record);
		}
	}

	#count(parent: PreloadedParent, more: 1 | -1): void {
		this.#workers.set(parent, (this.#workers.get(parent) ?? 0) + more);
		this.#releaseUnneeded(parent);
	}

	#releaseUnneeded(parent: PreloadedParent): void {
		if (!this.#retired.has(parent)) return;
		if ((this.#workers.get(parent) ?? 0) > 0) return;
		this.#retired.delete(parent);
		if (this.#living.has(parent)) void parent.release();
	}

	async #parent(): Promise<Parent> {
		if (this.#state.step !== "preloads") return undefined;
		const { serving } = this.#state;
		if (serving !== undefined) {
			const parent = await serving;
			if (parent?.isOfUse !== false) return parent;
			// Of several starts that see it together, the first one asks for another.
			if (this.#isServing(serving)) this.renew();
			return await this.#parent();
		}
		const begun = this.#begin();
		// It may have failed already.
		if (this.#state.step === "preloads")
			this.#state = { step: "preloads", serving: begun };
		return await begun;
	}

	#isServing(serving: Promise<Parent>): boolean {
		const state = this.#state;
		return state.step === "preloads" && state.serving === serving;
	}

	/** Starts a parent; `undefined` where there cannot be one. */
	async #begin(): Promise<Parent> {
		const { options, world } = this.#dependencies;
		const { clock, emit } = world;
		const slot = this.#slot();
		const restarts = this.#begun++;
		const renewals = this.#renewals;
		const begunMs = clock.now();
		try {
			const spec = this.#preload(slot);
			if (spec === undefined) {
				this.#goCold(renewals);
				return undefined;
			}
			assertPlatform(world.host.platform);
			const parent = await PreloadedParent.start(
				this.#dependencies,
				slot,
				spec,
				() => this.#lost(renewals),
				this.#starting.signal,
			);
			this.#watch(parent);
			emit({
				type: "preload.started",
				wallMs: clock.wall(),
				pool: options.name,
				pid: parent.pid,
				durationMs: clock.now() - begunMs,
				restarts,
			});
			return parent;
		} catch (error) {
			this.#refused(error, renewals);
			return undefined;
		}
	}

	#slot(): PreloadSlot {
		const slot = poolProcessSlot(this.#dependencies, "preload");
		return {
			...slot,
			forkSocket: join(slot.directory, "f"),
			hostPid: this.#dependencies.world.host.self.pid,
		};
	}

	#watch(parent: PreloadedParent): void {
		const { options, world } = this.#dependencies;
		this.#living.add(parent);
		void parent.ended.then((exit) => {
			this.#living.delete(parent);
			this.#workers.delete(parent);
			this.#retired.delete(parent);
			world.emit({
				type: "preload.ended",
				wallMs: world.clock.wall(),
				pool: options.name,
				pid: parent.pid,
				exit,
				how: parent.how,
			});
		});
	}

	/** The next start has another one. */
	#lost(renewals: number): void {
		if (this.#state.step !== "preloads" || renewals !== this.#renewals) return;
		this.#state = { step: "preloads", serving: undefined };
		if (++this.#losses < MOST_LOSSES) return;
		this.#refused(
			new StartError({
				code: "PRELOAD_LOST",
				message: `It was lost ${this.#losses} times.`,
			}),
			renewals,
		);
	}

	#refused(error: unknown, renewals: number): void {
		if (this.#starting.signal.aborted || renewals !== this.#renewals) return;
		this.#goCold(renewals);
		const { options, world } = this.#dependencies;
		const code: ErrorCode =
			error instanceof SnakepitError ? error.code : "PRELOAD_FAILED";
		world.emit({
			type: "preload.unavailable",
			wallMs: world.clock.wall(),
			pool: options.name,
			code,
			reason: messageOf(error),
		});
	}

	#goCold(renewals: number): void {
		if (this.#state.step === "preloads" && renewals === this.#renewals)
			this.#state = { step: "cold" };
	}
}

function assertPlatform(platform: NodeJS.Platform): void {
	if (platform === "linux") return;
	throw new StartError({
		code: "FORK_UNSAFE_PLATFORM",
		message: `On ${platform} a process that has imported system libraries must not be forked.`,
	});
}

/** It ends immediately, unless something in its imports delays that. */
const END_LIMIT_MS = 1_000;

/** One preloaded parent, and the line on which it is asked for workers. */
class PreloadedParent {
	/** Resolves when it is gone and nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #own: PoolProcess;
	readonly #line: ForkLine;
	readonly #rights: string;

	private constructor(
		own: PoolProcess,
		{ forkSocket }: PreloadSlot,
		{ world: { host, clock } }: PoolProcessDependencies,
		rights: string,
		lost: () => void,
	) {
		this.#own = own;
		this.#rights = rights;
		this.#line = new ForkLine({
			// As every control channel of this platform.
			connection: own.process.control as Socket,
			socketPath: forkSocket,
			source: "preload",
			highestDescriptor: 3,
			host,
			clock,
			lost,
			broken: () => own.signal("SIGKILL", "stop_ladder"),
		});
		// The ends of its workers are reported before its own.
		this.ended = own.whenEnded(() =>
			this.#line.lose(new Error("the preloaded parent has ended")),
		);
	}

	/**
	 * Starts one, and resolves when workers can be forked.
	 *
	 * @param spec what to execute in this slot.
	 * @param lost called once, when it can fork no more workers.
	 * @throws StartError saying why it cannot be; nothing is left then.
	 */
	static async start(
		dependencies: PoolProcessDependencies,
		slot: PreloadSlot,
		spec: LaunchSpec,
		lost: () => void,
		signal: AbortSignal,
	): Promise<PreloadedParent> {
		const rights = inheritedRights();
		const own = await PoolProcess.start(
			...([dependencies, slot, spec, "preloaded parent", signal] as const),
		);
		return new PreloadedParent(own, slot, dependencies, rights, lost);
	}

	get pid(): number {
		return this.#own.pid;
	}

	/**
	 * Whether it can fork what this program would start now: something may have removed its socket, and its workers have
	 * the rights that it has. One that is lost is: the start with it says so.
	 */
	get isOfUse(): boolean {
		if (this.isLost) return true;
		const rights = inheritedRights();
		const isSame = rights === "" || rights === this.#rights;
		return isSame && this.#line.isReachable;
	}

	get isLost(): boolean {
		return this.#line.isLost;
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#own.how;
	}

	/** Starts a worker; see {@link ProcessSource.start}. */
	fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		return this.#line.fork(spec, record);
	}

	/** Asks it to end; resolves when nothing of it is left, or it cannot die. */
	release(): Promise<void> {
		return this.#own.release(
			() => this.#line.end(),
			...([END_LIMIT_MS, this.ended] as const),
		);
	}

	/** Kills it with its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#own.signal("SIGKILL", "application_cleanup");
	}
}
