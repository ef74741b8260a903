import type { ControlError, FoundRun, ServedTick } from "@snakepit/control";
import {
	programsBeside,
	stoppedWorkers,
	viewWith,
	viewWithout,
} from "../runs/find-programs.ts";
import {
	type LivingProgram,
	type ProgramFacts,
	type ProgramView,
	programStatus,
} from "../wording/program-status.ts";
import { RecentlyEnded } from "./recent-calls.ts";
import type { ShownProgram } from "./top-view.ts";

/** Programs that have begun since are looked for this often, in milliseconds, */
const SEARCH_MS = 2_000;
/** and those that take no clients: that reads the whole process table. */
const BESIDE_MS = 10_000;
/** A program sends its state twice a second. After this time without, it is looked at whether it was stopped; */
const QUIET_MS = 1_000;
/** and after this one it does not answer. */
const SILENT_MS = 2_000;
/** A program that is stopped goes on with its stream when it is continued: no silence ends that. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** Which programs are watched. */
export interface WatchScope {
	readonly dataDir?: string | undefined;
	/** The id of one run, or the beginning of it. */
	readonly run?: string | undefined;
	/** Who watches, for the events of the programs. */
	readonly by: string;
}

/** How the watch of one program ended. */
export interface WatchEnd {
	readonly program: string;
	/** `undefined` when it closed its run. */
	readonly error: ControlError | undefined;
}

/** Programs that are followed, each by a stream of its own. */
export class WatchedPrograms {
	readonly #options: WatchScope;
	readonly #changed: () => void;
	readonly #programs = new Map<string, Watched>();
	readonly #leaving = new AbortController();
	#beside: readonly ProgramFacts[] = [];
	#besideAt = Number.NEGATIVE_INFINITY;
	#searching: Promise<void> | undefined;
	#searchedAt = Number.NEGATIVE_INFINITY;
	readonly ends: WatchEnd[] = [];

	/** @param changed is called when something new is known. */
	constructor(options: WatchScope, changed: () => void) {
		this.#options = options;
		this.#changed = changed;
	}

	/** How many programs are followed now. */
	get count(): number {
		return this.#programs.size;
	}

	/** Looks for programs that have begun since. */
	search(): Promise<void> {
		const now = performance.now();
		if (now - this.#searchedAt < SEARCH_MS) return Promise.resolve();
		this.#searching ??= this.#search().finally(() => {
			this.#searching = undefined;
			this.#searchedAt = performance.now();
		});
		return this.#searching;
	}

	/** Whether one of them has not been heard of yet, and may still be. */
	get isConnecting(): boolean {
		return [...this.#programs.values()].some((each) => each.isConnecting);
	}

	/** All that were heard of, as they are now. */
	async look(): Promise<readonly ShownProgram[]> {
		const { haltedProcess } = await import("@snakepit/core/inspect");
		const shown = [...this.#programs.values()].flatMap((program) =>
			program.isConnecting
				? []
				: [program.shown(haltedProcess, this.#programs.size)],
		);
		const beside = this.#beside.map((facts) => ({
			...{ facts, status: programStatus(facts, "are short") },
			...{ tick: undefined, ended: undefined },
		}));
		return [...shown, ...beside];
	}

	/** Ends every stream. */
	leave(): void {
		this.#leaving.abort();
		for (const program of this.#programs.values()) program.leave();
	}

	async #search(): Promise<void> {
		const { dataDir, run = "", by } = this.#options;
		const { findRuns, clientOf } = await import("@snakepit/control");
		const found = await findRuns(dataDir, new Set(this.#programs.keys()));
		for (const each of found) {
			if (!each.runId.startsWith(run) || this.#leaving.signal.aborted) continue;
			const client = clientOf(each, { by, silentMs: NO_LIMIT_MS });
			if (client === undefined) continue;
			const program = new Watched(each, this.#changed);
			this.#programs.set(each.directory, program);
			void program.follow(client).then((error) => {
				this.#programs.delete(each.directory);
				// What it left is seen at the next look.
				this.#searchedAt = Number.NEGATIVE_INFINITY;
				this.#besideAt = Number.NEGATIVE_INFINITY;
				if (error !== "left")
					this.ends.push({ program: program.name, error: error.error });
				this.#changed();
			});
		}
		if (run === "") await this.#searchBeside(by, dataDir);
	}

	async #searchBeside(by: string, dataDir: string | undefined): Promise<void> {
		if (performance.now() - this.#besideAt < BESIDE_MS) return;
		const controlled = [...this.#programs.values()].map(({ run }) => run);
		this.#beside = await programsBeside(
			controlled,
			{ dataDir, by },
			"left_out",
		);
		this.#besideAt = performance.now();
	}
}

/** One program that is followed. */
class Watched {
	readonly run: FoundRun;
	readonly #changed: () => void;
	readonly #leaving = new AbortController();
	#tick: ServedTick | undefined;
	readonly #ended = new RecentlyEnded();
	#heardAt = performance.now();
	/** What is said instead of its state; `undefined` while it sends that. */
	#refused: ProgramView | undefined;

	constructor(run: FoundRun, changed: () => void) {
		this.run = run;
		this.#changed = changed;
	}

	get name(): string {
		return `${this.run.program} (pid ${this.run.pid})`;
	}

	get isConnecting(): boolean {
		return (
			this.#tick === undefined &&
			this.#refused === undefined &&
			performance.now() - this.#heardAt < SILENT_MS
		);
	}

	leave(): void {
		this.#leaving.abort();
	}

	/** Follows it to its end. A program that does not let it read stays, and is shown as such. */
	async follow(
		client: import("@snakepit/control").ControlClient,
	): Promise<"left" | { readonly error: ControlError | undefined }> {
		const { signal } = this.#leaving;
		try {
			for await (const update of client.events(signal)) {
				if (update.kind === "event") this.#ended.event(update.event);
				if (update.kind !== "state") continue;
				this.#tick = update.state;
				this.#ended.tick(update.state);
				this.#heardAt = performance.now();
				this.#changed();
			}
			return signal.aborted ? "left" : { error: undefined };
		} catch (error) {
			if (signal.aborted) return "left";
			const failure = error as ControlError;
			if (failure.code === "HOST_GONE" || failure.code === "HOST_SILENT")
				return { error: failure };
			this.#refused = viewWithout(failure);
			this.#changed();
			await new Promise((resolve) => signal.addEventListener("abort", resolve));
			return "left";
		} finally {
			client[Symbol.dispose]();
		}
	}

	shown(
		halted: (pid: number) => "no" | "stopped" | "traced",
		living: number,
	): ShownProgram {
		const { runId, pid, program, dataDir, startedAtMs } = this.run;
		const view = this.#view(halted);
		const facts: LivingProgram = {
			...{ kind: "living", runId, pid, program, dataDir, startedAtMs, view },
			ledger: { kind: "named", dataDir },
			stoppedWorkers:
				view.kind === "seen" ? stoppedWorkers(view.state, halted) : [],
		};
		return {
			facts,
			status: programStatus(facts, living > 1 ? "name the run" : "are short"),
			tick: this.#tick,
			ended: this.#ended,
		};
	}

	#view(halted: (pid: number) => "no" | "stopped" | "traced"): ProgramView {
		if (this.#refused !== undefined) return this.#refused;
		const forMs = performance.now() - this.#heardAt;
		const how = forMs < QUIET_MS ? "no" : halted(this.run.pid);
		if (how !== "no") return { kind: "halted", how };
		if (this.#tick === undefined || forMs >= SILENT_MS)
			return { kind: "silent", forMs };
		return viewWith(this.#tick);
	}
}
