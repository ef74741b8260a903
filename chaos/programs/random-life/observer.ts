import type { Pool, SnakepitEvent } from "@snakepit/core";

/** The events of a call, a worker and a session as letters, and the orders of them that are allowed. */
const LETTERS: Readonly<Partial<Record<SnakepitEvent["type"], string>>> = {
	"call.accepted": "a",
	"call.dispatched": "d",
	"call.released": "r",
	"call.settled": "s",
	"worker.starting": "t",
	"worker.spawned": "p",
	"worker.ready": "y",
	"worker.start_failed": "f",
	"worker.exited": "x",
	"session.started": "b",
	"session.ended": "e",
};
/** A call may be settled while its attempt still has its worker. A start that failed has a process or none. */
const ALLOWED = /^(a(dr)*(s|dsr)|tpyx|tf|tpfx|tpxf|be)$/;
const READY = "tpy";

/** What events say of one call. */
export interface SeenCall {
	/** The incarnations that it was sent to. */
	readonly sentTo: string[];
	/** The number of its last attempt. */
	attempt: number;
	/** Whether that may have ended before it began: then the next one has its number. */
	wasRecalled: boolean;
	code: string | undefined;
}

/** Takes every event of one pool, and checks which of them belong together. */
export class Observer {
	readonly wrong: string[] = [];
	/** How each worker ended, in a few words. */
	readonly ends: string[] = [];
	/** By id. */
	readonly calls: Map<string, SeenCall> = new Map();
	/** The call that was accepted last. */
	accepted: string | undefined;
	/** By id of a call or a session, or by incarnation: the letters of its events. */
	readonly #letters = new Map<string, string>();
	readonly #incarnations = new Map<number, string>();
	#settled = 0;

	/** The worker that had this pid. */
	incarnationOf(pid: number): string | undefined {
		return this.#incarnations.get(pid);
	}

	hasExited(incarnation: string | undefined): boolean {
		return this.#letters.get(incarnation ?? "")?.endsWith("x") === true;
	}

	observe(event: SnakepitEvent): void {
		const letter = LETTERS[event.type];
		if (letter !== undefined) {
			const { callId, sessionId, incarnation } = event as {
				readonly [id in "callId" | "sessionId" | "incarnation"]?: string;
			};
			const id = event.type.startsWith("session.") ? sessionId : callId;
			const key = id ?? incarnation ?? "";
			this.#letters.set(key, (this.#letters.get(key) ?? "") + letter);
		}
		switch (event.type) {
			case "call.accepted":
				this.accepted = event.callId;
				break;
			case "call.dispatched": {
				const { callId, incarnation, attempt } = event;
				const call = this.#call(callId);
				call.sentTo.push(incarnation);
				this.#check(
					attempt === call.attempt + 1 ||
						(call.wasRecalled && attempt === call.attempt),
					`${callId}: attempt ${attempt} does not follow`,
				);
				Object.assign(call, { attempt, wasRecalled: false });
				this.#check(
					this.#letters.get(incarnation) === READY,
					`${callId} dispatched to a worker that is not there`,
				);
				break;
			}
			case "call.released":
				this.#call(event.callId).wasRecalled = event.ranMs === 0;
				break;
			case "call.settled": {
				const { callId, code, attempts } = event;
				const call = this.#call(callId);
				call.code = code;
				this.#settled++;
				this.#check(
					attempts === call.attempt ||
						(call.wasRecalled && attempts === call.attempt - 1),
					`${callId} reports ${attempts} attempts`,
				);
				break;
			}
			case "worker.spawned":
				this.#incarnations.set(event.pid, event.incarnation);
				break;
			case "worker.exited": {
				const { incarnation, reason, callsLost, exit, killer } = event;
				const end = `${incarnation} ${reason} ${JSON.stringify(exit)} by ${killer}, ${callsLost} calls`;
				this.#check(reason !== "recycled" || callsLost === 0, end);
				this.ends.push(end);
				break;
			}
			case "listener.threw":
				this.wrong.push(`a listener threw: ${String(event.error)}`);
		}
	}

	/** After the pool is closed: checks that every start has one end, and the counts. */
	conclude(pool: Pool): void {
		for (const [id, letters] of this.#letters)
			this.#check(ALLOWED.test(letters), `${id} has the events ${letters}`);
		const { calls, sessions, workers } = pool.statistics();
		const { accepted, waiting, running } = calls;
		const { succeeded, failed, aborted, timed_out } = calls;
		const left = Object.values(workers).reduce((sum, each) => sum + each, 0);
		const known = [...this.#letters.values()].filter((each) => each[0] === "a");
		this.#check(
			accepted === known.length &&
				succeeded + failed + aborted + timed_out === this.#settled &&
				waiting + running + sessions + left === 0,
			`events of ${known.length} calls, ${this.#settled} settled: ${JSON.stringify({ calls, sessions, workers })}`,
		);
	}

	#call(callId: string): SeenCall {
		const known = this.calls.get(callId);
		if (known) return known;
		const fresh: SeenCall = {
			...{ sentTo: [], attempt: 0, wasRecalled: false, code: undefined },
		};
		this.calls.set(callId, fresh);
		return fresh;
	}

	#check(right: boolean, wrong: string): void {
		if (!right) this.wrong.push(wrong);
	}
}
