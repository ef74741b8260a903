import type { Timer } from "../contract/clock.ts";
import {
	isMarkerOf,
	mayLive,
	type ProcessIdentity,
	processKey,
} from "../contract/identity.ts";
import type { World } from "../contract/world.ts";
import { pause } from "../deadline.ts";
import { outbox } from "../outbox.ts";
import type { Survivor } from "./process-end.ts";

/** Scans are gathered: many workers that end together cost one look at the process table. */
const GATHER_MS = 1_000;
/** A scan that found something is followed by another, this often at most: what is killed may have forked meanwhile. */
const MAX_ROUNDS = 10;
/** A killed process is gone within milliseconds; only one that cannot die takes so long. */
const SWEEP_LIMIT_MS = 5_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/**
 * Finds what dead workers left behind outside their groups, by the marker in its
 * environment, and kills it.
 */
export class OrphanSweep {
	readonly #world: World;
	readonly #ended = new Set<string>();
	/** Those that were killed and may not be gone. */
	#killed: ProcessIdentity[] = [];
	#timer: Timer | undefined;

	constructor(world: World) {
		this.#world = world;
	}

	/** This process has ended: every descendant of it is to be ended too. */
	noteEnded(incarnation: string): void {
		this.#ended.add(incarnation);
		this.#timer ??= this.#schedule();
	}

	#schedule(): Timer {
		return this.#world.clock.after(GATHER_MS, () => this.finish());
	}

	/** Looks now, until nothing is found any more; again later where the process table cannot be read. */
	finish(): void {
		this.#timer?.cancel();
		this.#timer = undefined;
		if (this.#ended.size === 0) return;
		try {
			outbox.during(() => this.#lookForAll());
		} catch {
			// Whatever ends a worker can do nothing about it; the auditor reports it.
			this.#timer = this.#schedule();
		}
	}

	/** Looks now, and resolves when what it has killed is gone, to what is not gone in time: nothing but what cannot die. */
	async settle(): Promise<readonly Survivor[]> {
		this.finish();
		const { clock } = this.#world;
		const begunMs = clock.now();
		for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
			const left = this.#living();
			if (left.length === 0 || clock.now() - begunMs >= SWEEP_LIMIT_MS)
				return left.map(({ pid }) => ({ pid, name: "what a worker left" }));
			const ms = Math.min(pauseMs, LONGEST_PAUSE_MS);
			await pause(clock, ms);
		}
	}

	#living(): readonly ProcessIdentity[] {
		const { host } = this.#world;
		this.#killed = this.#killed.filter((identity) =>
			mayLive(identity, host.observe(identity.pid)),
		);
		return this.#killed;
	}

	#lookForAll(): void {
		// Already killed, and perhaps still in the process table.
		const dying = new Set<string>();
		this.#living();
		for (let round = 0; round < MAX_ROUNDS && this.#kill(dying) > 0; round++);
		this.#ended.clear();
	}

	/** Kills those that are not `dying` already. Returns how many. */
	#kill(dying: Set<string>): number {
		const { host, registry, clock, emit } = this.#world;
		let killed = 0;
		for (const process of host.marked()) {
			if (
				!isMarkerOf(process.marker, registry.runId, host.self) ||
				process.incarnation === undefined ||
				!this.#ended.has(process.incarnation)
			)
				continue;
			const name = processKey(process.identity);
			if (dying.has(name)) continue;
			if (host.signal(process.identity, "SIGKILL") !== "sent") continue;
			dying.add(name);
			this.#killed.push(process.identity);
			killed++;
			emit({
				type: "orphan.reaped",
				program: undefined,
				wallMs: clock.wall(),
				ofRun: registry.runId,
				pid: process.identity.pid,
				how: "killed",
				foundBy: "marker",
			});
		}
		return killed;
	}
}
