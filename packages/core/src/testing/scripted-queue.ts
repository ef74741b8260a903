import { NOT_BEGUN, type SendAhead } from "../adapter.ts";
import { ConnectionBrokenError } from "../errors.ts";
import type { ScriptedWorker } from "./scripted-worker.ts";

/** How a scripted worker takes calls ahead. */
export interface ScriptedAhead {
	/** From the note that a call begins to the look whether it was taken back. */
	readonly gapMs: number;
	/** Called with how many calls were taken back at once. */
	readonly onTakenBack?: ((calls: number) => void) | undefined;
}

interface Entry {
	readonly number: number;
	readonly callId: string;
	run(): Promise<void>;
	notBegun(error?: Error): void;
}

/** The calls that a scripted worker got while it ran another one. It begins them one after the other. */
export class ScriptedQueue implements SendAhead {
	readonly #worker: ScriptedWorker;
	readonly #options: ScriptedAhead;
	readonly #entries: Entry[] = [];
	/** Of those that never begin, because the conversation is over. */
	readonly #lost = new Set<string>();
	#last = 0;
	/** As the two words of the page: what the worker began, and up to where the host took back, but for one. */
	#begun = 0;
	#floor = 0;
	#kept = 0;
	#state: "idle" | "busy" = "idle";

	constructor(worker: ScriptedWorker, options: ScriptedAhead) {
		this.#worker = worker;
		this.#options = options;
		worker.onLost((error) => this.#lose(error));
	}

	admits(): boolean {
		return true;
	}

	takeBack(callId: string): ReadonlySet<string> {
		const at = this.#entries.findIndex((entry) => entry.callId === callId);
		const first = this.#entries[at];
		if (first === undefined) return this.#lost;
		this.#kept = this.#entries[at - 1]?.number ?? 0;
		this.#floor = this.#last;
		const taken = this.#entries.filter(
			({ number }) => number >= first.number && number > this.#begun,
		);
		for (const entry of taken) {
			this.#entries.splice(this.#entries.indexOf(entry), 1);
			entry.notBegun();
		}
		this.#options.onTakenBack?.(taken.length);
		return new Set(taken.map((entry) => entry.callId));
	}

	/** Runs a call in its turn. */
	run<Value>(callId: string, work: () => Promise<Value>): Promise<unknown> {
		const { promise, resolve, reject } = Promise.withResolvers<unknown>();
		this.#entries.push({
			number: ++this.#last,
			callId,
			run: () => work().then(resolve, reject),
			notBegun: (error) =>
				error === undefined ? resolve(NOT_BEGUN) : reject(error),
		});
		this.#worker.mostCallsWaiting = Math.max(
			this.#worker.mostCallsWaiting,
			this.#entries.length - 1,
		);
		if (this.#state === "idle") void this.#work();
		return promise;
	}

	async #work(): Promise<void> {
		this.#state = "busy";
		for (;;) {
			const [entry] = this.#entries;
			if (entry === undefined) break;
			this.#begun = entry.number;
			const { gapMs } = this.#options;
			if (gapMs > 0) await this.#worker.process.sleep(gapMs);
			const isTaken =
				entry.number <= this.#floor && entry.number !== this.#kept;
			if (isTaken) entry.notBegun();
			else await entry.run();
			const at = this.#entries.indexOf(entry);
			if (at >= 0) this.#entries.splice(at, 1);
		}
		this.#state = "idle";
	}

	#lose(broken: ConnectionBrokenError): void {
		const error = new ConnectionBrokenError({
			ran: "no",
			message: broken.message,
		});
		for (const entry of this.#entries.splice(0)) {
			if (entry.number <= this.#begun) continue; // Its script loses the connection itself.
			this.#lost.add(entry.callId);
			entry.notBegun(error);
		}
	}
}
