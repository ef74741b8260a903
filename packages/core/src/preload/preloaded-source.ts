import { join } from "node:path";
import type { LaunchSpec, PreloadPlace } from "../adapter.ts";
import type { ErrorCode } from "../error-codes.ts";
import { SnakepitError, StartError } from "../errors.ts";
import type { ProcessIdentity } from "../identity.ts";
import { messageOf } from "../worker/start-errors.ts";
import type { ProcessSource, ProcessSpec, StartedProcess } from "../world.ts";
import type { PreloadSetting } from "./preload-setting.ts";
import { PreloadedParent } from "./preloaded-parent.ts";

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
	setting: PreloadSetting,
): PreloadedSource | undefined {
	const { adapter } = setting;
	if (adapter.preload === undefined) return undefined;
	return new PreloadedSource(setting, adapter.preload.bind(adapter));
}

/**
 * Workers forked from a preloaded parent, which itself is started as a worker is:
 * from the same source, recorded, tied to this program's life. Where there cannot
 * be one, workers start by themselves, and an event reports why.
 */
export class PreloadedSource implements ProcessSource {
	readonly name = "preload";
	readonly #setting: PreloadSetting;
	readonly #preload: (place: PreloadPlace) => LaunchSpec | undefined;
	#state: State = { step: "preloads", serving: undefined };
	#begun = 0;
	#losses = 0;
	readonly #living = new Set<PreloadedParent>();
	readonly #starting = new AbortController();

	/** @param preload how the adapter describes its parent; nothing where its workers start by themselves. */
	constructor(
		setting: PreloadSetting,
		preload: (place: PreloadPlace) => LaunchSpec | undefined,
	) {
		this.#setting = setting;
		this.#preload = preload;
	}

	async start(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const { host, source } = this.#setting.world;
		// The steps of a start are events of sockets that hold nothing open themselves.
		const release = host.keepAlive();
		try {
			const parent = await this.#parent();
			if (parent === undefined) return await source.start(spec, record);
			return await this.#fork(parent, spec, record);
		} finally {
			release();
		}
	}

	/** Ends the parent; resolves when nothing of it is left. Its workers have ended before. */
	async release(): Promise<void> {
		const state = this.#state;
		this.#state = { step: "released" };
		this.#starting.abort(new Error("the pool is closed"));
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
		try {
			return await parent.fork(spec, (identity) => {
				known.identity = identity;
				record(identity);
			});
		} catch (error) {
			if (known.identity !== undefined || !parent.isLost) throw error;
			return await this.#setting.world.source.start(spec, record);
		}
	}

	#parent(): Promise<Parent> {
		if (this.#state.step !== "preloads") return Promise.resolve(undefined);
		const serving = this.#state.serving ?? this.#begin();
		this.#state = { step: "preloads", serving };
		return serving;
	}

	/** Starts a parent; `undefined` where there cannot be one. */
	async #begin(): Promise<Parent> {
		const { options, world } = this.#setting;
		const { clock, emit } = world;
		const place = this.#place();
		const restarts = this.#begun++;
		const begunMs = clock.now();
		try {
			const spec = this.#preload(place);
			if (spec === undefined) {
				this.#goCold();
				return undefined;
			}
			assertPlatform(world.host.platform);
			const parent = await PreloadedParent.start(
				this.#setting,
				place,
				spec,
				() => this.#lost(),
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
			this.#refused(error);
			return undefined;
		}
	}

	#place(): PreloadPlace {
		const { options, world, runDirectory } = this.#setting;
		const { registry } = world;
		const incarnation = registry.nextIncarnation();
		const name = incarnation.slice(incarnation.lastIndexOf("-") + 1);
		const directory = join(runDirectory, name);
		return {
			pool: options.name,
			slots: options.size.max,
			workerId: `${options.name}-preload`,
			incarnation,
			runId: registry.runId,
			directory,
			forkSocket: join(directory, "f"),
			hostPid: world.host.self.pid,
			callsPerWorker: options.callsPerWorker,
			startTimeoutMs: options.start.timeoutMs,
		};
	}

	#watch(parent: PreloadedParent): void {
		const { options, world } = this.#setting;
		this.#living.add(parent);
		void parent.ended.then((exit) => {
			this.#living.delete(parent);
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
	#lost(): void {
		if (this.#state.step !== "preloads") return;
		this.#state = { step: "preloads", serving: undefined };
		if (++this.#losses < MOST_LOSSES) return;
		this.#refused(
			new StartError({
				code: "PRELOAD_LOST",
				ran: "no",
				message: `It was lost ${this.#losses} times.`,
			}),
		);
	}

	#refused(error: unknown): void {
		if (this.#state.step === "released") return;
		this.#goCold();
		const { options, world } = this.#setting;
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

	#goCold(): void {
		if (this.#state.step === "preloads") this.#state = { step: "cold" };
	}
}

function assertPlatform(platform: NodeJS.Platform): void {
	if (platform === "linux") return;
	throw new StartError({
		code: "FORK_UNSAFE_PLATFORM",
		ran: "no",
		message: `On ${platform} a process that has imported system libraries must not be forked.`,
	});
}
