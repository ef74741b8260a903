import type { EventOf, Pool, SnakepitEvent } from "@snakepit/core";

/** The events of one call. */
export interface SeenCall {
	readonly command: string;
	readonly dispatched: string[];
	/** The number that its last attempt has. */
	attempt: number;
	released: number;
	/** Whether its last attempt may have ended before it began: then the next one has its number. */
	wasRecalled: boolean;
	readonly settled: { readonly code: string | undefined }[];
}

/** The events of one worker, counted. */
export interface SeenWorker {
	spawned: number;
	ready: number;
	/** Ready, or its start failed. */
	started: number;
	exited: number;
}

/** Takes every event of one pool, and checks which of them belong together. */
export class Observer {
	/** By id. */
	readonly calls: Map<string, SeenCall> = new Map();
	/** By incarnation. */
	readonly workers: Map<string, SeenWorker> = new Map();
	readonly wrong: string[] = [];
	/** How each worker ended, in a few words. */
	readonly ends: string[] = [];
	/** The call that was accepted last. */
	accepted: string | undefined;
	readonly #pids = new Map<number, string>();
	#sessions = 0;
	#settled = 0;

	/** The worker that had this pid. */
	incarnationOf(pid: number): string | undefined {
		return this.#pids.get(pid);
	}

	observe(event: SnakepitEvent): void {
		switch (event.type) {
			case "call.accepted": {
				const { callId, command } = event;
				this.accepted = callId;
				this.#check(!this.calls.has(callId), `${callId} accepted twice`);
				this.calls.set(callId, freshCall(command));
				break;
			}
			case "call.dispatched":
				this.#dispatched(event);
				break;
			case "call.released":
				this.#released(event);
				break;
			case "call.settled": {
				const { callId, code, attempts } = event;
				const call = this.#call(callId);
				this.#settled++;
				call.settled.push({ code });
				this.#check(
					attempts === call.attempt ||
						(call.wasRecalled && attempts === call.attempt - 1),
					`${callId} reports ${attempts} attempts`,
				);
				break;
			}
			case "worker.starting":
				this.workers.set(event.incarnation, freshWorker());
				break;
			case "worker.spawned":
				this.#worker(event.incarnation).spawned++;
				this.#pids.set(event.pid, event.incarnation);
				break;
			case "worker.ready":
				this.#worker(event.incarnation).ready++;
				this.#worker(event.incarnation).started++;
				break;
			case "worker.start_failed":
				this.#worker(event.incarnation).started++;
				break;
			case "worker.exited": {
				const { incarnation, reason, callsLost, exit, killer } = event;
				this.#worker(incarnation).exited++;
				const what = `${incarnation} ${reason} ${JSON.stringify(exit)} by ${killer}, ${callsLost} calls`;
				this.#check(reason !== "recycled" || callsLost === 0, what);
				this.ends.push(what);
				break;
			}
			case "session.started":
				this.#sessions++;
				break;
			case "session.ended":
				this.#sessions--;
				break;
			case "listener.threw":
				this.wrong.push(`a listener threw: ${String(event.error)}`);
		}
	}

	#check(right: boolean, wrong: string): void {
		if (!right) this.wrong.push(wrong);
	}

	#dispatched(event: EventOf<"call.dispatched">): void {
		const { callId, incarnation, attempt } = event;
		const call = this.#call(callId);
		call.dispatched.push(incarnation);
		const worker = this.#worker(incarnation);
		this.#check(
			call.settled.length === 0,
			`${callId} dispatched after it was settled`,
		);
		this.#check(
			attempt === call.attempt + 1 ||
				(call.wasRecalled && attempt === call.attempt),
			`${callId}: attempt ${attempt} does not follow`,
		);
		call.attempt = attempt;
		call.wasRecalled = false;
		this.#check(
			worker.ready === 1 && worker.exited === 0,
			`${callId} dispatched to a worker that is not there`,
		);
	}

	#released({ callId, ranMs }: EventOf<"call.released">): void {
		const call = this.#call(callId);
		call.released++;
		call.wasRecalled = ranMs === 0;
	}

	#call(callId: string): SeenCall {
		return this.#known(this.calls, callId, "accepted", () => freshCall(""));
	}

	#worker(incarnation: string): SeenWorker {
		return this.#known(this.workers, incarnation, "started", freshWorker);
	}

	#known<T>(all: Map<string, T>, id: string, how: string, make: () => T): T {
		const known = all.get(id);
		if (known) return known;
		this.wrong.push(`${id} was never ${how}`);
		const made = make();
		all.set(id, made);
		return made;
	}

	/** After the pool is closed: checks that every start has one end, and the counts. */
	conclude(pool: Pool): void {
		for (const [id, call] of this.calls) {
			const { command, settled, dispatched, released } = call;
			this.#check(
				settled.length === 1 && released === dispatched.length,
				`${id} (${command}) settled ${settled.length} times; ${dispatched.length} attempts, ${released} released`,
			);
		}
		for (const [id, { spawned, exited, started }] of this.workers)
			this.#check(
				spawned === exited && started === 1,
				`${id} spawned ${spawned}, exited ${exited}, its start has ${started} ends`,
			);
		this.#check(this.#sessions === 0, `${this.#sessions} sessions did not end`);
		const { calls, sessions, workers } = pool.statistics();
		const { accepted, waiting, running } = calls;
		const { succeeded, failed, aborted, timed_out } = calls;
		const left = Object.values(workers).reduce((sum, each) => sum + each, 0);
		this.#check(
			accepted === this.calls.size &&
				succeeded + failed + aborted + timed_out === this.#settled &&
				waiting + running + sessions + left === 0,
			`events of ${this.calls.size} calls, ${this.#settled} settled: ${JSON.stringify({ calls, sessions, workers })}`,
		);
	}
}

function freshCall(command: string): SeenCall {
	return {
		...{ command, dispatched: [], attempt: 0, released: 0 },
		...{ wasRecalled: false, settled: [] },
	};
}

function freshWorker(): SeenWorker {
	return { spawned: 0, ready: 0, started: 0, exited: 0 };
}
