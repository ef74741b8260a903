import type { EventOf, Pool, SnakepitEvent } from "@snakepit/core";

/** The events of one call. */
export interface SeenCall {
	readonly command: string;
	readonly dispatched: string[];
	released: number;
	settled: { readonly code: string | undefined }[];
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
	readonly #sessions = { started: 0, ended: 0 };
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
				if (this.calls.has(callId)) this.wrong.push(`${callId} accepted twice`);
				this.calls.set(callId, freshCall(command));
				break;
			}
			case "call.dispatched":
				this.#dispatched(event);
				break;
			case "call.released":
				this.#call(event.callId).released++;
				break;
			case "call.settled": {
				const { callId, code, attempts } = event;
				const call = this.#call(callId);
				this.#settled++;
				call.settled.push({ code });
				if (attempts !== call.dispatched.length)
					this.wrong.push(`${callId} reports ${attempts} attempts`);
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
			case "worker.exited":
				this.#exited(event);
				break;
			case "session.started":
				this.#sessions.started++;
				break;
			case "session.ended":
				this.#sessions.ended++;
				break;
			case "listener.threw":
				this.wrong.push(`a listener threw: ${String(event.error)}`);
		}
	}

	#dispatched(event: EventOf<"call.dispatched">): void {
		const { callId, incarnation, attempt } = event;
		const call = this.#call(callId);
		call.dispatched.push(incarnation);
		if (call.settled.length > 0)
			this.wrong.push(`${callId} dispatched after it was settled`);
		if (attempt !== call.dispatched.length)
			this.wrong.push(`${callId}: attempt ${attempt} does not follow`);
		const worker = this.#worker(incarnation);
		if (worker.ready !== 1 || worker.exited > 0)
			this.wrong.push(`${callId} dispatched to a worker that is not there`);
	}

	#exited(event: EventOf<"worker.exited">): void {
		const { incarnation, reason, callsLost, exit, killer } = event;
		this.#worker(incarnation).exited++;
		if (reason === "recycled" && callsLost > 0)
			this.wrong.push(`${incarnation} was recycled with ${callsLost} calls`);
		this.ends.push(
			`${incarnation} ${reason} ${JSON.stringify(exit)} by ${killer}, ${callsLost} calls`,
		);
	}

	#call(callId: string): SeenCall {
		const call = this.calls.get(callId);
		if (call) return call;
		this.wrong.push(`${callId} was never accepted`);
		const made = freshCall("");
		this.calls.set(callId, made);
		return made;
	}

	#worker(incarnation: string): SeenWorker {
		const worker = this.workers.get(incarnation);
		if (worker) return worker;
		this.wrong.push(`${incarnation} never started`);
		const made = freshWorker();
		this.workers.set(incarnation, made);
		return made;
	}

	/** After the pool is closed: checks that every start has one end, and the counts. */
	conclude(pool: Pool): void {
		const { wrong } = this;
		for (const [callId, { command, settled, dispatched, released }] of this
			.calls) {
			if (settled.length !== 1)
				wrong.push(`${callId} (${command}) settled ${settled.length} times`);
			if (released !== dispatched.length)
				wrong.push(
					`${callId} (${command}): ${dispatched.length} attempts, ${released} released`,
				);
		}
		for (const [incarnation, { spawned, exited, started }] of this.workers) {
			if (spawned !== exited)
				wrong.push(`${incarnation} spawned ${spawned}, exited ${exited}`);
			if (started !== 1)
				wrong.push(`the start of ${incarnation} has ${started} ends`);
		}
		const { started, ended } = this.#sessions;
		if (started !== ended)
			wrong.push(`${started} sessions started, ${ended} ended`);
		const { calls, sessions, workers } = pool.statistics();
		const { accepted, waiting, running } = calls;
		const { succeeded, failed, aborted, timed_out } = calls;
		const left = Object.values(workers).reduce((sum, each) => sum + each, 0);
		if (
			accepted !== this.calls.size ||
			succeeded + failed + aborted + timed_out !== this.#settled ||
			waiting + running + sessions + left > 0
		)
			wrong.push(
				`events of ${this.calls.size} calls, ${this.#settled} settled: ${JSON.stringify({ calls, sessions, workers })}`,
			);
	}
}

function freshCall(command: string): SeenCall {
	return { command, dispatched: [], released: 0, settled: [] };
}

function freshWorker(): SeenWorker {
	return { spawned: 0, ready: 0, started: 0, exited: 0 };
}
