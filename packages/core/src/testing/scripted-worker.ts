import {
	type CallOptions,
	type Prefetch,
	RECALLED,
} from "../contract/connection.ts";
import { ConnectionBrokenError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type {
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "../contract/launch.ts";
import type { FakeProcess } from "./fake-process.ts";

/** One worker of a scripted adapter, as its commands see it. */
export class ScriptedWorker {
	readonly slot: WorkerSlot;
	/** Which start of this adapter it is, from 1. */
	readonly number: number;
	/** Its process: a command may fork, use memory or ignore signals. */
	readonly process: FakeProcess;
	/** Kept for each session until the session ends. */
	readonly sessions: Map<string, Map<string, unknown>> = new Map();
	/** How many calls it is running. */
	callsRunning = 0;
	/** The most that ever ran at once. */
	mostCallsRunning = 0;
	/** The most prefetched calls that ever waited in it. */
	mostCallsWaiting = 0;

	readonly #worker: WorkerProcess;
	readonly #listeners = new Set<(error: ConnectionBrokenError) => void>();
	#broken: ConnectionBrokenError | undefined;

	constructor(worker: WorkerProcess, process: FakeProcess, number: number) {
		this.slot = worker.slot;
		this.number = number;
		this.process = process;
		this.#worker = worker;
		void worker.exited.then((exit) =>
			this.#lose(this.#error(`ended (${wordsOf(exit)})`)),
		);
	}

	/** Why no call can be taken any more. */
	get broken(): ConnectionBrokenError | undefined {
		return this.#broken;
	}

	/** Settles as `work` does, or rejects when the conversation ends before. */
	async whileConnected<Value>(
		work: () => Promise<Value> | Value,
	): Promise<Value> {
		if (this.#broken) throw this.#broken;
		const lost = Promise.withResolvers<never>();
		this.#listeners.add(lost.reject);
		try {
			return await Promise.race([work(), lost.promise]);
		} finally {
			this.#listeners.delete(lost.reject);
		}
	}

	/** Calls this when the conversation ends. */
	onLost(listener: (error: ConnectionBrokenError) => void): void {
		this.#listeners.add(listener);
	}

	/** Ends the process in the middle of whatever it is doing. */
	crash(exit: ProcessExit = { kind: "signal", signal: "SIGSEGV" }): void {
		this.process.die(exit);
	}

	/** Breaks the conversation while the process runs on. */
	breakConversation(why = "sent an unknown message"): void {
		const error = this.#error(why);
		if (this.#lose(error)) this.#worker.broken(error);
	}

	/** Ends the conversation from the host's side. */
	hangUp(): void {
		this.#lose(this.#error("is disconnected"));
	}

	/** Hands one record of its logging to the host. */
	log(message: string, fields: Partial<WorkerLogRecord> = {}): void {
		this.#worker.log({
			level: "info",
			logger: "scripted",
			message,
			wallMs: 0,
			...fields,
		});
	}

	/** The values kept for one session. */
	session(sessionId: string): Map<string, unknown> {
		const values = this.sessions.get(sessionId) ?? new Map<string, unknown>();
		this.sessions.set(sessionId, values);
		return values;
	}

	#lose(error: ConnectionBrokenError): boolean {
		if (this.#broken) return false;
		this.#broken = error;
		for (const listener of this.#listeners) listener(error);
		return true;
	}

	#error(what: string): ConnectionBrokenError {
		return new ConnectionBrokenError({
			ran: "maybe",
			message: `The scripted worker ${this.slot.workerId} (pid ${this.process.pid}) ${what}.`,
		});
	}
}

function wordsOf(exit: ProcessExit): string {
	return exit.kind === "code" ? `exit code ${exit.code}` : exit.signal;
}

/** How a scripted worker prefetches calls. */
export interface ScriptedPrefetch {
	/** From the note that a call begins to the look whether it was recalled. */
	readonly gapMs: number;
	/** From the end of a call to the moment when the host has its answer; the worker begins the next one meanwhile. */
	readonly answerMs?: number | undefined;
	/** Called with how many calls were recalled together. */
	readonly onRecalled?: ((calls: number) => void) | undefined;
}

interface Entry {
	readonly number: number;
	readonly callId: string;
	readonly measured: CallOptions["measured"];
	readonly work: () => Promise<unknown>;
	readonly resolve: (value: unknown) => void;
	readonly reject: (error: unknown) => void;
}

/** The calls that a scripted worker got while it ran another one. It begins them one after the other. */
export class ScriptedQueue implements Prefetch {
	readonly #worker: ScriptedWorker;
	readonly #options: ScriptedPrefetch;
	/** Those without an answer, as the host sees it. */
	readonly #entries: Entry[] = [];
	/** Of those that never begin, because the conversation is over. */
	readonly #lost = new Set<string>();
	#last = 0;
	/** As the two words of the page: what the worker began, and up to where the host took back, but for one. */
	#begun = 0;
	#floor = 0;
	#kept = 0;
	#state: "idle" | "busy" = "idle";

	constructor(worker: ScriptedWorker, options: ScriptedPrefetch) {
		this.#worker = worker;
		this.#options = options;
		worker.onLost((error) => this.#lose(error));
	}

	admits(): boolean {
		return true;
	}

	recall(callId: string): ReadonlySet<string> {
		const at = this.#entries.findIndex((entry) => entry.callId === callId);
		// One that is over already was sent before all that are left.
		const first = this.#entries[Math.max(at, 0)];
		if (first === undefined) return this.#lost;
		this.#kept = this.#entries[at - 1]?.number ?? 0;
		this.#floor = this.#last;
		const taken = this.#entries.filter(
			({ number }) => number >= first.number && number > this.#begun,
		);
		for (const entry of taken) {
			this.#entries.splice(this.#entries.indexOf(entry), 1);
			entry.resolve(RECALLED);
		}
		this.#options.onRecalled?.(taken.length);
		return new Set(taken.map((entry) => entry.callId));
	}

	/** Runs a call in its turn. */
	run(
		{ callId, measured }: CallOptions,
		work: () => Promise<unknown>,
	): Promise<unknown> {
		const { promise, resolve, reject } = Promise.withResolvers<unknown>();
		const number = ++this.#last;
		this.#entries.push({ number, callId, measured, work, resolve, reject });
		this.#worker.mostCallsWaiting = Math.max(
			this.#worker.mostCallsWaiting,
			this.#entries.length - 1,
		);
		if (this.#state === "idle") void this.#work();
		return promise;
	}

	async #work(): Promise<void> {
		this.#state = "busy";
		const { gapMs } = this.#options;
		for (;;) {
			const entry = this.#entries.find(({ number }) => number > this.#begun);
			if (entry === undefined) break;
			this.#begun = entry.number;
			if (gapMs > 0) await this.#worker.process.sleep(gapMs);
			const isRecalled =
				entry.number <= this.#floor && entry.number !== this.#kept;
			if (isRecalled) this.#answer(entry, () => entry.resolve(RECALLED));
			else await this.#run(entry);
		}
		this.#state = "idle";
	}

	async #run(entry: Entry): Promise<void> {
		const { process } = this.#worker;
		const beganMs = process.now();
		const give = await entry.work().then(
			(value) => () => entry.resolve(value),
			(error) => () => entry.reject(error),
		);
		const ranMs = process.now() - beganMs;
		this.#answer(entry, () => {
			if (entry.measured !== undefined) entry.measured.ranMs = ranMs;
			give();
		});
	}

	/** The host has the answer after a while, unless the conversation ends before. */
	#answer(entry: Entry, give: () => void): void {
		const arrive = (): void => {
			const at = this.#entries.indexOf(entry);
			if (at < 0) return;
			this.#entries.splice(at, 1);
			give();
		};
		const { answerMs = 0 } = this.#options;
		if (answerMs > 0) void this.#worker.process.sleep(answerMs).then(arrive);
		else arrive();
	}

	#lose(broken: ConnectionBrokenError): void {
		const { message } = broken;
		for (const entry of this.#entries.splice(0)) {
			const began = entry.number <= this.#begun;
			if (!began) this.#lost.add(entry.callId);
			entry.reject(
				began ? broken : new ConnectionBrokenError({ ran: "no", message }),
			);
		}
	}
}
