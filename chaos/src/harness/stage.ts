import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	setImmediate as nextTurn,
	setTimeout as sleep,
} from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Random } from "@snakepit/core/infrastructure";
import { removePlace } from "../../../scripts/remove-place.ts";
import type { HostOrders, ProtectionName } from "../../programs/orders.ts";
import { PYTHON } from "../../programs/worker-adapter.ts";
import { HostProcess, type HostSetting } from "./host-process.ts";
import {
	commandLine,
	end,
	lives,
	look,
	type SeenProcess,
} from "./process-table.ts";
import { everythingOf, processesOf } from "./stage-processes.ts";
import { Witness } from "./witness.ts";

/** After this a process that should have ended has survived. What its time was is published, whether it is counted is decided here. */
const SURVIVED_MS = 5_000;

const HOLDER = fileURLToPath(
	new URL("../../programs/holds_the_witness.py", import.meta.url),
);

/** What protects settles the run when all is done, which loads a database: nobody waits for that. */
const LAYERS_LEAVE_MS = 30_000;

/** What is left out takes the value of the case. */
export type StageOrders = Partial<HostOrders>;

/** How Python workers of every case are made, where the case does not say. */
export type WorkerChoice = Pick<HostOrders, "transport" | "preload">;

/** How it ended: when the last was gone, or who was left. */
export interface Ending {
	readonly goneMs: number;
	readonly leftovers: number;
	/** What survived, each in a few words. */
	readonly left: readonly string[];
}

/** The place of one round: its own directory, witness and hosts. All of it is gone when it is disposed of. */
export class Stage implements AsyncDisposable {
	readonly directory: string;
	readonly dataDir: string;
	readonly random: Random;
	readonly witness: Witness;
	readonly #protections: readonly ProtectionName[];
	readonly #workers: WorkerChoice;
	readonly #hosts: HostProcess[] = [];
	readonly #bystanders: SeenProcess[] = [];

	private constructor(
		directory: string,
		witness: Witness,
		random: Random,
		protections: readonly ProtectionName[],
		workers: WorkerChoice,
	) {
		this.directory = directory;
		this.dataDir = join(directory, "data");
		mkdirSync(this.dataDir, { mode: 0o700 });
		this.witness = witness;
		this.random = random;
		this.#protections = protections;
		this.#workers = workers;
	}

	static async open(
		random: Random,
		protections: readonly ProtectionName[],
		workers: WorkerChoice = {},
	): Promise<Stage> {
		const directory = mkdtempSync(join(tmpdir(), "chaos-"));
		const witness = await Witness.open(join(directory, "witness"));
		return new Stage(directory, witness, random, protections, workers);
	}

	/** In the environment of everything that is started here, but for descendants that clear it. */
	get env(): Readonly<Record<string, string>> {
		return {
			CHAOS_STAGE: this.directory,
			CHAOS_WITNESS: this.witness.path,
			CHAOS_PYTHON: PYTHON,
		};
	}

	start(
		orders: StageOrders = {},
		setting: Partial<HostSetting> = {},
	): HostProcess {
		const host = new HostProcess(
			{
				dataDir: this.dataDir,
				worker: "python",
				size: 4,
				protections: this.#protections,
				...this.#workers,
				...orders,
			},
			{ ...setting, env: { ...this.env, ...setting.env } },
		);
		this.#hosts.push(host);
		return host;
	}

	/** A host whose workers are ready. */
	async ready(
		orders: StageOrders = {},
		setting: Partial<HostSetting> = {},
	): Promise<HostProcess> {
		const host = this.start(orders, setting);
		await host.told("ready");
		return host;
	}

	/**
	 * A process that nobody here has any business with. With a chosen pid only in
	 * a private pid namespace.
	 */
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

	/** Kills a host when the round is over: only what survives is of interest. */
	async killAfterwards(
		host: HostProcess,
	): Promise<{ readonly leftovers: number; readonly left: readonly string[] }> {
		const { leftovers, left } = await this.untilGone(host.kill());
		return { leftovers, left };
	}

	/**
	 * Waits until nothing of this stage is left that the witness or the process
	 * table knows, hosts and `except` aside.
	 */
	async untilGone(
		sinceMs: number,
		except: readonly SeenProcess[] = [],
		survivedMs: number = SURVIVED_MS,
	): Promise<Ending> {
		const deadline = sinceMs + survivedMs;
		const quiet = (): boolean => this.#due(except).length === 0;
		await this.witness.until(quiet, deadline - performance.now());
		const last = (): number =>
			Math.max(
				sinceMs,
				...this.witness.sightings.map(({ goneAtMs }) => goneAtMs ?? 0),
			);
		for (let first = true; ; first = false) {
			const now = performance.now();
			// Timers come first: what ended while we stood still is not read yet.
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
	 * SIGKILL to a host and its workers, and to what they start while they are
	 * ended: nobody is left whom the next start would have to end.
	 *
	 * @throws Error when something is left all the same.
	 */
	async killWithItsWorkers(host: HostProcess): Promise<void> {
		const deadline = performance.now() + SURVIVED_MS;
		for (
			let left = processesOf(host);
			left.length > 0 && performance.now() < deadline;
			left = processesOf(host)
		) {
			for (const each of left) end(each);
			await sleep(2);
		}
		await host.exited;
		const { left } = await this.untilGone(performance.now());
		if (left.length > 0) throw new Error(`${left.join("; ")} did not end.`);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const host of this.#hosts) host.killWithItsProtections();
		await Promise.all(this.#hosts.map(({ exited }) => exited));
		// What forks while it is ended needs more than one look.
		for (let looks = 0; looks < 100; looks++) {
			const left = everythingOf(this);
			if (left.length === 0) break;
			for (const each of left) end(each);
			await sleep(5);
		}
		await this.witness[Symbol.asyncDispose]();
		removePlace(this.directory);
	}

	/** What protects leaves after what it protected; that is not a part of the time, but it must leave. */
	async #layersGone(goneMs: number): Promise<Ending> {
		const deadline = performance.now() + LAYERS_LEAVE_MS;
		for (;;) {
			const left = this.#layers().filter(lives);
			if (left.length === 0 || performance.now() > deadline)
				return { goneMs, leftovers: left.length, left: left.map(inWords) };
			await sleep(2);
		}
	}

	/** The processes of protections, of hosts that are gone. */
	#layers(): readonly SeenProcess[] {
		const gone = this.#hosts.filter(({ pid }) => {
			const seen = look(pid);
			return seen === undefined || seen.zombie;
		});
		return gone
			.flatMap(({ layers }) => layers)
			.flatMap(({ processes }) => processes);
	}

	#due(except: readonly SeenProcess[]) {
		const spared = new Set(except.map(({ pid }) => pid));
		return this.witness
			.living()
			.filter(({ role, pid }) => role !== "bystander" && !spared.has(pid));
	}

	#left(except: readonly SeenProcess[]): readonly SeenProcess[] {
		const hosts = this.#hosts.flatMap(({ pid }) => look(pid) ?? []);
		const layers = this.#hosts
			.flatMap((host) => host.layers)
			.flatMap(({ processes }) => processes);
		const spared = new Set(
			[...except, ...this.#bystanders, ...hosts, ...layers].map(
				({ pid }) => pid,
			),
		);
		return everythingOf(this).filter(({ pid }) => !spared.has(pid));
	}
}

function inWords({ pid }: SeenProcess): string {
	return `${pid}: ${commandLine(pid).join(" ").slice(0, 80)}`;
}
