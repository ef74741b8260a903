import { processKey } from "../identity.ts";
import { isMarkerOf } from "../marker.ts";
import { outbox } from "../outbox.ts";
import type { Timer, World } from "../world.ts";

/** Scans are gathered: many workers that end together cost one look at the process table. */
const GATHER_MS = 1_000;
/** A scan that found something is followed by another, this often at most: what is killed may have forked meanwhile. */
const MAX_ROUNDS = 10;

/**
 * Finds what dead workers left behind outside their groups, by the marker in its
 * environment, and kills it.
 */
export class OrphanSweep {
	readonly #world: World;
	readonly #ended = new Set<string>();
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

	#lookForAll(): void {
		// Already killed, and perhaps still in the process table.
		const dying = new Set<string>();
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
