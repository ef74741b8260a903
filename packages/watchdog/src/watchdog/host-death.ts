import { existsSync } from "node:fs";
import {
	type Clock,
	type DeadRun,
	findOrphans,
	formatMarker,
	isRunDirectory,
	isSameProcess,
	type KillLimits,
	type KillResult,
	type Orphan,
	type ProcessFacts,
	type ProcessIdentity,
	ProcessKiller,
	type ProcessSnapshot,
	processKey,
	type SystemProcessHost,
} from "@snakepit/core/infrastructure";
import type { Incident, SettledRun } from "@snakepit/core/registry";
import type { ListedRun, ListedWorker } from "./message.ts";

/** A process of a dead run, and how the watchdog found it. */
interface Doomed extends Orphan {
	readonly knownBy: KnownBy;
	/** When it was found, in milliseconds since the Unix epoch. */
	readonly wallMs: number;
	readonly wholeGroup?: number | undefined;
}

type KnownBy = Extract<
	Incident,
	{ readonly type: "protection.process_killed" }
>["foundBy"];

interface FirstLookParts {
	readonly host: Pick<SystemProcessHost, "facts" | "descendants">;
	readonly clock: Pick<Clock, "wall">;
}

/**
 * Finds the reported workers of a dead run and their descendants, before anything is killed: a process whose parent has
 * died no longer shows where it descends from.
 *
 * A guard may kill the same processes meanwhile, and a worker may end between two looks. So each process is recorded
 * under its nearest ancestor that is a worker: workers can also descend from the preloaded parent.
 */
export function firstLook(
	run: ListedRun,
	{ host, clock }: FirstLookParts,
): readonly Doomed[] {
	const workers = new Map<string, ListedWorker>();
	for (const worker of run.workers.values())
		workers.set(processKey(worker.identity), worker);
	const doomed = new Map<string, Doomed>();

	const add = (
		{ identity, groupId }: Pick<ProcessFacts, "identity" | "groupId">,
		worker: ListedWorker,
	): void => {
		const isWorker = isSameProcess(identity, worker.identity);
		const ownGroup = groupId === worker.groupId;
		doomed.set(processKey(identity), {
			ofRun: run.runId,
			pid: identity.pid,
			identity,
			groupId,
			incarnation: worker.incarnation,
			fingerprint: undefined,
			foundBy: ownGroup ? "group" : "marker",
			ownGroup,
			wholeGroup: ownGroup ? worker.groupId : undefined,
			knownBy: isWorker ? "reported" : ownGroup ? "group" : "descent",
			wallMs: clock.wall(),
		});
	};
	const workerOf = (identity: ProcessIdentity): ListedWorker | undefined => {
		const key = processKey(identity);
		const incarnation = doomed.get(key)?.incarnation ?? "";
		return workers.get(key) ?? run.workers.get(incarnation);
	};

	for (const worker of run.workers.values()) {
		const facts = host.facts(worker.identity.pid);
		// Another process now has its pid, or its parent has not reaped it yet.
		if (
			facts === undefined ||
			!isSameProcess(facts.identity, worker.identity) ||
			facts.condition === "zombie"
		)
			continue;
		add(facts, worker);
		// Parents come before their children.
		for (const each of host.descendants(worker.identity))
			if (!doomed.has(processKey(each.identity)))
				add(each, workerOf(each.identity) ?? workerOf(each.parent) ?? worker);
	}
	return [...doomed.values()];
}

interface HostDeathParts {
	readonly host: SystemProcessHost;
	readonly clock: Clock;
	readonly runs: readonly ListedRun[];
	/** When the pipe ended, on the clock: the first sign of the death. */
	readonly signAt: number;
}

/** Counted after the grace: a process that is still there is in uninterruptible sleep, and the next start checks again. */
const KILL_LIMIT_MS = 10_000;
/**
 * Counted after the last process is gone: a process that the host forked in its last instant carries the marker only
 * after it has executed its program.
 */
const LATE_LOOKS_MS: readonly number[] = [10, 40, 150, 300];
const LONGEST_LOOK_MS = 50;

/**
 * What a watchdog does after the death of its host: kills, looks again until
 * nothing of the runs is left, then settles them in the ledger.
 *
 * The processes are gone before the ledger is opened, so a damaged ledger cannot save them.
 */
export class HostDeath {
	readonly #parts: HostDeathParts;
	readonly #killer: ProcessKiller;
	readonly #noticedAt: number;
	readonly #noticedWallMs: number;

	constructor(parts: HostDeathParts) {
		this.#parts = parts;
		// Only now: its ancestors change when its host dies.
		this.#killer = new ProcessKiller(parts.host, parts.clock);
		this.#noticedAt = parts.clock.now();
		this.#noticedWallMs = parts.clock.wall();
	}

	async handle(): Promise<void> {
		const { runs } = this.#parts;
		const known = runs.map((run) => ({ run, doomed: this.#first(run) }));
		await Promise.all(
			known.map(({ run, doomed }) => this.#handleRun(run, doomed)),
		);
	}

	async #handleRun(run: ListedRun, doomed: readonly Doomed[]): Promise<void> {
		const results = [...(await this.#end(run, doomed))];
		const goneAt = this.#parts.clock.now();
		for (const ms of LATE_LOOKS_MS) {
			await this.#pause(ms);
			results.push(...(await this.#end(run, [])));
		}
		await this.#untilHostGone(run.owner);
		try {
			await this.#settle(run, results, goneAt - this.#noticedAt);
		} catch {
			// The host is dead, so nothing can receive this error; the next start settles the run.
		}
	}

	/** Finds the reported workers and their descendants; kills them now if there is no grace. */
	#first(run: ListedRun): readonly Doomed[] {
		const doomed = firstLook(run, this.#parts);
		if (run.graceMs === 0) this.#killNow(doomed);
		return doomed;
	}

	#killNow(doomed: readonly Doomed[]): void {
		const { host } = this.#parts;
		for (const { identity, wholeGroup, knownBy } of doomed)
			if (knownBy === "reported" && wholeGroup !== undefined)
				host.signalGroup(wholeGroup, identity, "SIGKILL");
		for (const { identity, knownBy } of doomed)
			if (knownBy === "descent") host.signal(identity, "SIGKILL");
	}

	/** Ends the known processes and any others that are found, until nothing is left. */
	#end(
		run: ListedRun,
		doomed: readonly Doomed[],
	): Promise<readonly KillResult<Doomed>[]> {
		const { host } = this.#parts;
		const known: Doomed[] = [...doomed];
		const dead = deadRun(run);
		return this.#killer.end<Doomed>(() => {
			const result = this.#search(dead, host.snapshot(), known);
			known.push(...result);
			return known;
		}, limitsOf(run));
	}

	/** Finds further processes. */
	#search(
		dead: DeadRun,
		snapshot: ProcessSnapshot,
		known: readonly Doomed[],
	): readonly Doomed[] {
		const wallMs = this.#parts.clock.wall();
		const { host } = this.#parts;
		const { orphans } = findOrphans(dead, snapshot, known, (...number) =>
			host.holdsNumber(...number),
		);
		return orphans
			.filter(
				(orphan) =>
					!known.some(({ identity }) =>
						isSameProcess(identity, orphan.identity),
					),
			)
			.map((orphan) => ({
				...orphan,
				wholeGroup: orphan.ownGroup ? orphan.groupId : undefined,
				knownBy: orphan.foundBy === "ledger" ? "reported" : orphan.foundBy,
				wallMs,
			}));
	}

	/** Waits until the host is gone; until then, the ledger's owner seems to be alive. */
	async #untilHostGone(owner: ProcessIdentity): Promise<void> {
		const { host } = this.#parts;
		for (let ms = 1; host.condition(owner) !== "gone"; ms *= 2)
			await this.#pause(Math.min(ms, LONGEST_LOOK_MS));
	}

	async #settle(
		run: ListedRun,
		ended: readonly KillResult<Doomed>[],
		durationMs: number,
	): Promise<void> {
		// Loaded only now, so that a waiting watchdog needs little memory.
		const { settleRun } = await import("@snakepit/core/registry");
		const { runId, owner, dataDir, runDirectory } = run;
		const { host } = this.#parts;
		// A removed ledger is not recreated.
		const outcome = existsSync(dataDir)
			? await settleRun({
					...this.#parts,
					killer: this.#killer,
					dataDir,
					runId,
					owner,
					limits: limitsOf(run),
					ended,
					incidents: (end) => this.#incidents(run, ended, end, durationMs),
				})
			: { kind: "over" };
		if (outcome.kind === "over" && isRunDirectory(runDirectory, runId))
			host.remove([runDirectory]);
	}

	#incidents(
		{ runId: ofRun, graceMs }: ListedRun,
		ended: readonly KillResult<Doomed>[],
		{ reaped }: SettledRun,
		durationMs: number,
	): readonly Incident[] {
		const { clock, host } = this.#parts;
		const common = { protection: "watchdog", ofRun };
		const killed = reaped.map(
			({ pid, identity, incarnation, foundBy, how }): Incident => {
				const known = ended.find(({ target }) =>
					isSameProcess(target.identity, identity),
				)?.target;
				return {
					type: "protection.process_killed",
					wallMs: known?.wallMs ?? clock.wall(),
					...common,
					pid,
					startTime: identity.startTime,
					incarnation,
					foundBy: known?.knownBy ?? foundBy,
					// Without a grace only SIGKILL is sent.
					signal: graceMs === 0 || how === "killed" ? "SIGKILL" : "SIGTERM",
				};
			},
		);
		return [
			{
				type: "protection.host_death_detected",
				wallMs: this.#noticedWallMs,
				...common,
				pid: host.self.pid,
				detectionMs: this.#noticedAt - this.#parts.signAt,
			},
			...killed,
			{
				type: "protection.run_settled",
				wallMs: clock.wall(),
				...common,
				killed: killed.length,
				durationMs,
			},
		];
	}

	#pause(ms: number): Promise<void> {
		return new Promise((resolve) => {
			this.#parts.clock.after(ms, resolve);
		});
	}
}

/** The run as the host has reported it. */
function deadRun(run: ListedRun): DeadRun {
	return {
		ofRun: run.runId,
		owns: (marker) => formatMarker(marker) === run.marker,
		workers: [...run.workers.values()].map((worker) => ({
			...worker,
			fingerprint: "",
		})),
	};
}

function limitsOf({ graceMs }: ListedRun): KillLimits {
	return { graceMs, deadlineMs: graceMs + KILL_LIMIT_MS };
}
