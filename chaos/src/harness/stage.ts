import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	setImmediate as nextTurn,
	setTimeout as sleep,
} from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { removePlace } from "../../../scripts/remove-place.ts";
import { Chance } from "../../programs/chance.ts";
import type { HostOptions } from "../../programs/host.ts";
import {
	type ProtectionName,
	PYTHON,
	type WorkerOptions,
} from "../../programs/worker-adapter.ts";
import { HostProcess, type HostSetting } from "./host-process.ts";
import { end, lives, look, type SeenProcess } from "./process-table.ts";
import { inWords, layersOf, startedIn } from "./stage-processes.ts";
import { Witness } from "./witness.ts";

/** A process that lives longer than this after the fault is a leftover. Times are published beside that. */
const ENDED_MS = 5_000;
/** Protections record the end of the run when their work is done, which loads a database. */
const LAYERS_LEAVE_MS = 30_000;
const HOLDER = fileURLToPath(
	new URL("../../programs/holds_the_witness.py", import.meta.url),
);

/** How the Python workers of every case are made that does not choose itself. */
export type WorkerChoice = Pick<WorkerOptions, "transport" | "preload">;

type Defaults = Pick<HostOptions, "protections"> & WorkerChoice;

/** How it ended: when the last was gone, or what was left. */
export interface Ending {
	readonly goneMs: number;
	readonly leftovers: number;
	/** Each in a few words. */
	readonly left: readonly string[];
}

/** The place of one round: its own directory, witness and hosts. Disposing of it ends and removes everything. */
export class Stage implements AsyncDisposable {
	readonly directory: string;
	readonly dataDir: string;
	readonly chance: Chance;
	readonly witness: Witness;
	readonly #defaults: Defaults;
	readonly #hosts: HostProcess[] = [];
	readonly #bystanders: SeenProcess[] = [];

	private constructor(
		directory: string,
		witness: Witness,
		seed: number,
		defaults: Defaults,
	) {
		this.directory = directory;
		this.dataDir = join(directory, "data");
		mkdirSync(this.dataDir, { mode: 0o700 });
		this.witness = witness;
		this.chance = new Chance(seed);
		this.#defaults = defaults;
	}

	static async open(
		seed: number,
		protections: readonly ProtectionName[],
		workers: WorkerChoice = {},
	): Promise<Stage> {
		const directory = mkdtempSync(join(tmpdir(), "chaos-"));
		const witness = await Witness.open(join(directory, "witness"));
		return new Stage(directory, witness, seed, { protections, ...workers });
	}

	/** In the environment of everything that is started here, except for descendants that clear it. */
	get env(): Readonly<Record<string, string>> {
		return {
			CHAOS_STAGE: this.directory,
			CHAOS_WITNESS: this.witness.path,
			CHAOS_PYTHON: PYTHON,
		};
	}

	/** Starts a host: four Python workers with the protections of the case, where the options do not differ. */
	start(
		options: Partial<HostOptions> = {},
		setting: Partial<HostSetting> = {},
	): HostProcess {
		const host = new HostProcess(
			{
				dataDir: this.dataDir,
				worker: "python",
				size: 4,
				...this.#defaults,
				...options,
			},
			{ ...setting, env: { ...this.env, ...setting.env } },
		);
		this.#hosts.push(host);
		return host;
	}

	/** Starts a host and waits until its workers are ready. */
	async ready(
		options: Partial<HostOptions> = {},
		setting: Partial<HostSetting> = {},
	): Promise<HostProcess> {
		const host = this.start(options, setting);
		await host.fact("ready");
		return host;
	}

	/** A process that belongs to nobody here. With a chosen pid only in a private pid namespace. */
	async bystander(pid?: number): Promise<SeenProcess> {
		const before = this.#bystanders.length;
		if (pid !== undefined)
			writeFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
		const child = spawn(PYTHON, [HOLDER, "bystander"], {
			stdio: "ignore",
			detached: true,
			env: { ...process.env, ...this.env },
		});
		child.unref();
		const seen = look(child.pid ?? -1);
		if (!seen) throw new Error("The bystander did not start.");
		this.#bystanders.push(seen);
		await this.sees("bystander", before + 1);
		return seen;
	}

	/** How many bystanders were ended. */
	get wrongKills(): number {
		return this.#bystanders.filter((each) => !lives(each)).length;
	}

	/** Resolves when the witness has seen so many of a role. */
	async sees(role: string, count: number): Promise<void> {
		if (
			await this.witness.until(() => this.witness.seen(role) >= count, 60_000)
		)
			return;
		throw new Error(
			`The witness saw ${this.witness.seen(role)} of ${count} "${role}".`,
		);
	}

	/** Kills a host when a round is over, and counts what is left. */
	async killAfterwards(host: HostProcess): Promise<Omit<Ending, "goneMs">> {
		const { leftovers, left } = await this.untilGone(host.kill());
		return { leftovers, left };
	}

	/** Counts what is left beside a host that lives, then kills that, too. */
	async leftBeside(host: HostProcess): Promise<Omit<Ending, "goneMs">> {
		const now = performance.now();
		const before = await this.untilGone(now, host.processes());
		const after = await this.killAfterwards(host);
		return {
			leftovers: before.leftovers + after.leftovers,
			left: [...before.left, ...after.left],
		};
	}

	/**
	 * Waits until nothing of this stage is left that the witness or the process
	 * table knows, except for hosts and `except`.
	 */
	async untilGone(
		sinceMs: number,
		except: readonly SeenProcess[] = [],
		endedMs: number = ENDED_MS,
	): Promise<Ending> {
		const deadline = sinceMs + endedMs;
		const quiet = (): boolean => this.#due(except).length === 0;
		await this.witness.until(quiet, deadline - performance.now());
		const last = (): number =>
			Math.max(
				sinceMs,
				...this.witness.sightings.map(({ goneAtMs }) => goneAtMs ?? 0),
			);
		for (let first = true; ; first = false) {
			const now = performance.now();
			// Ends that the kernel reported while this process stood still are read first.
			await nextTurn();
			const left = this.#left(except);
			if (left.length === 0 && quiet())
				return await this.#layersGone((first ? last() : now) - sinceMs);
			if (now > deadline) {
				const due = this.#due(except).map(({ role, pid }) => `${role} ${pid}`);
				const words = left.length >= due.length ? left.map(inWords) : due;
				return { goneMs: now - sinceMs, leftovers: words.length, left: words };
			}
			await sleep(2);
		}
	}

	/**
	 * SIGKILL to a host and its workers, and to what they start meanwhile: the next start has
	 * nothing to end.
	 *
	 * @throws Error when something is left all the same.
	 */
	async killWithItsWorkers(host: HostProcess): Promise<void> {
		const deadline = performance.now() + ENDED_MS;
		for (
			let left = host.processes();
			left.length > 0 && performance.now() < deadline;
			left = host.processes()
		) {
			for (const each of left) end(each);
			await sleep(2);
		}
		await host.exited;
		const { left } = await this.untilGone(performance.now());
		if (left.length > 0) throw new Error(`${left.join("; ")} did not end.`);
	}

	/** How many processes hosts have started that live, those of protections left out. */
	started(): number {
		return this.#left([]).length;
	}

	/** Everything that was started here and lives, hosts and protections too. */
	everything(): readonly SeenProcess[] {
		return startedIn(this.directory, this.witness.path);
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
		await this.witness[Symbol.asyncDispose]();
		removePlace(this.directory);
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

	/** What the witness sees and should be gone. */
	#due(except: readonly SeenProcess[]) {
		const spared = new Set(except.map(({ pid }) => pid));
		return this.witness
			.living()
			.filter(({ role, pid }) => role !== "bystander" && !spared.has(pid));
	}

	/** What the process table has and should be gone. */
	#left(except: readonly SeenProcess[]): readonly SeenProcess[] {
		const hosts = this.#hosts.flatMap(({ pid }) => look(pid) ?? []);
		const layers = this.#hosts.flatMap(layersOf);
		const spared = new Set(
			[...except, ...this.#bystanders, ...hosts, ...layers].map(
				({ pid }) => pid,
			),
		);
		return this.everything().filter(({ pid }) => !spared.has(pid));
	}
}
