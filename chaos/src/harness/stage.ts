import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	setImmediate as nextTurn,
	setTimeout as sleep,
} from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "../../../packages/core/src/testing/virtual-pool.ts";
import { removeDirectory } from "../../../scripts/remove-directory.ts";
import type { HostOptions } from "../../programs/host.ts";
import {
	type ProtectionName,
	PYTHON,
	type WorkerOptions,
} from "../../programs/worker-adapter.ts";
import { ExitWatcher, type Watched } from "./exit-watcher.ts";
import { HostProcess, type HostStart } from "./host-process.ts";
import {
	end,
	inWords,
	lives,
	look,
	type SeenProcess,
	startedIn,
} from "./processes.ts";

/** A process that lives longer than this after the fault is a leftover. Times are published beside that. */
const ENDED_MS = 5_000;
/** Protections record the end of the run when their work is done, which loads a database. */
const LAYERS_LEAVE_MS = 30_000;
const STAYS = fileURLToPath(
	new URL("../../programs/stays.py", import.meta.url),
);

/** How the Python workers of every case are made that does not choose itself. */
export type WorkerChoice = Pick<WorkerOptions, "transport" | "preload">;

type Defaults = Pick<HostOptions, "protections"> & WorkerChoice;

/** The end of what had to end. */
export interface Ending {
	/** From the fault to the end of the last process, or to the check that found leftovers. */
	readonly goneMs: number;
	readonly leftovers: number;
	/** Each in a few words. */
	readonly left: readonly string[];
}

/** The environment of one round: its own directory, exit watcher and hosts. Disposing of it ends and removes everything. */
export class Stage implements AsyncDisposable {
	readonly directory: string;
	readonly dataDir: string;
	readonly chance: SeededRandom;
	readonly exits: ExitWatcher;
	readonly #defaults: Defaults;
	readonly #hosts: HostProcess[] = [];
	readonly #bystanders: SeenProcess[] = [];

	private constructor(
		directory: string,
		exits: ExitWatcher,
		seed: number,
		defaults: Defaults,
	) {
		this.directory = directory;
		this.dataDir = join(directory, "data");
		mkdirSync(this.dataDir, { mode: 0o700 });
		this.exits = exits;
		this.chance = new SeededRandom(seed);
		this.#defaults = defaults;
	}

	static async open(
		seed: number,
		protections: readonly ProtectionName[],
		workers: WorkerChoice = {},
	): Promise<Stage> {
		const directory = mkdtempSync(join(tmpdir(), "chaos-"));
		const exits = await ExitWatcher.open(join(directory, "exits"));
		return new Stage(directory, exits, seed, { protections, ...workers });
	}

	/** In the environment of everything that is started here, except for descendants that clear it. */
	get env(): Readonly<Record<string, string>> {
		return {
			CHAOS_STAGE: this.directory,
			CHAOS_EXIT_WATCHER: this.exits.path,
			CHAOS_PYTHON: PYTHON,
			// What a killed host leaves goes with the stage: no next start cleans up after it.
			TMPDIR: this.directory,
		};
	}

	/** Starts a host: four Python workers with the protections of the case, where the options do not differ. */
	start(
		options: Partial<HostOptions> = {},
		how: Partial<HostStart> = {},
	): HostProcess {
		const host = new HostProcess(
			{
				...{ dataDir: this.dataDir, worker: "python", size: 4 },
				...this.#defaults,
				...options,
			},
			{ ...how, env: { ...this.env, ...how.env } },
		);
		this.#hosts.push(host);
		return host;
	}

	/** Starts a host and waits until its workers are ready. */
	async ready(
		options: Partial<HostOptions> = {},
		how: Partial<HostStart> = {},
	): Promise<HostProcess> {
		const host = this.start(options, how);
		await host.fact("ready");
		return host;
	}

	/** Starts a process that belongs to no host and must not be ended. */
	async bystander(): Promise<void> {
		const child = spawn(PYTHON, [STAYS, "bystander"], {
			stdio: "ignore",
			detached: true,
			env: { ...process.env, ...this.env },
		});
		child.unref();
		const started = look(child.pid ?? -1);
		if (!started) throw new Error("The bystander did not start.");
		this.#bystanders.push(started);
		await this.sees("bystander", this.#bystanders.length);
	}

	/** How many bystanders were ended. */
	get wrongKills(): number {
		return this.#bystanders.filter((each) => !lives(each)).length;
	}

	/** Resolves when so many of a role have connected to the exit watcher. */
	async sees(role: string, count: number): Promise<void> {
		const isThere = (): boolean => this.exits.connected(role) >= count;
		if (await this.exits.until(isThere, 60_000)) return;
		throw new Error(
			`${this.exits.connected(role)} of ${count} "${role}" connected.`,
		);
	}

	/** Kills a host when a round is over, and counts what is left. */
	async killAfterwards(host: HostProcess): Promise<Omit<Ending, "goneMs">> {
		const { leftovers, left } = await this.untilGone(host.kill());
		return { leftovers, left };
	}

	/**
	 * Waits until nothing of this stage is left that the exit watcher or the process table knows, except for hosts,
	 * bystanders and `except`.
	 */
	async untilGone(
		sinceMs: number,
		except: readonly SeenProcess[] = [],
		endedMs: number = ENDED_MS,
	): Promise<Ending> {
		const deadline = sinceMs + endedMs;
		const quiet = (): boolean => this.#connected(except).length === 0;
		await this.exits.until(quiet, deadline - performance.now());
		for (let first = true; ; first = false) {
			const now = performance.now();
			// Ends that the kernel reported while this process stood still are read first.
			await nextTurn();
			const left = this.#left(except);
			if (left.length === 0 && quiet()) {
				const gone = this.exits.watched.map(({ goneAtMs }) => goneAtMs ?? 0);
				const last = first ? Math.max(sinceMs, ...gone) : now;
				return await this.#layersGone(last - sinceMs);
			}
			if (now > deadline) {
				const connected = this.#connected(except).map(
					({ role, pid }) => `${role} ${pid}`,
				);
				const words =
					left.length >= connected.length ? left.map(inWords) : connected;
				return { goneMs: now - sinceMs, leftovers: words.length, left: words };
			}
			await sleep(2);
		}
	}

	/** How many processes hosts have started that live, those of protections left out. */
	started(): number {
		return this.#left([]).length;
	}

	/** Everything that was started here and lives, hosts and protections too. */
	everything(): readonly SeenProcess[] {
		return startedIn(this.directory, this.exits.path);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const host of this.#hosts) host.killWithItsProtections();
		await Promise.all(this.#hosts.map(({ exited }) => exited));
		// What forks while it is ended needs more than one look.
		for (let looks = 0; looks < 100; looks++) {
			const left = this.everything();
			if (left.length === 0) break;
			for (const each of left) end(each);
			await sleep(5);
		}
		await this.exits[Symbol.asyncDispose]();
		removeDirectory(this.directory);
	}

	/** Protections leave after what they protected; that is no part of the time, but they must leave. */
	async #layersGone(goneMs: number): Promise<Ending> {
		const deadline = performance.now() + LAYERS_LEAVE_MS;
		for (;;) {
			const left = this.#hosts
				.filter(({ pid }) => look(pid)?.zombie !== false)
				.flatMap(layersOf)
				.filter(lives);
			if (left.length === 0 || performance.now() > deadline)
				return { goneMs, leftovers: left.length, left: left.map(inWords) };
			await sleep(2);
		}
	}

	/** What is connected to the exit watcher and should be gone. */
	#connected(except: readonly SeenProcess[]): readonly Watched[] {
		const spared = new Set(except.map(({ pid }) => pid));
		return this.exits
			.living()
			.filter(({ role, pid }) => role !== "bystander" && !spared.has(pid));
	}

	/** What the process table has and should be gone. */
	#left(except: readonly SeenProcess[]): readonly SeenProcess[] {
		const spared = new Set(
			[...except, ...this.#bystanders, ...this.#hosts.flatMap(layersOf)].map(
				({ pid }) => pid,
			),
		);
		for (const { pid } of this.#hosts) spared.add(pid);
		return this.everything().filter(({ pid }) => !spared.has(pid));
	}
}

function layersOf({ layers }: HostProcess): readonly SeenProcess[] {
	return layers.flatMap(({ processes }) => processes);
}
