import type { ServerResponse } from "node:http";
import type { ControlClock } from "./controlled-run.ts";
import { FLUSH_MS, PENDING_CHARACTERS, PENDING_RECORDS } from "./limits.ts";

/** So much is written at a time of what a client is to get in full. */
const PART_CHARACTERS = 64 << 10;

/**
 * Server-sent events to one client. Records are written in groups. A client that reads too slowly loses those that do
 * not fit into the buffer, and then gets `lost` with their number.
 */
export class RecordStream {
	readonly #response: ServerResponse;
	readonly #clock: ControlClock;
	/** Records that are written before the pending ones, a part at a time: a slow client loses none of them. */
	#first: Iterator<string> | undefined;
	#pending: string[] = [];
	#characters = 0;
	#lost = 0;
	#state: "idle" | "scheduled" | "blocked" | "ended" = "idle";
	/** `"last"`: it ends when everything is written. */
	#more: "expected" | "last" = "expected";

	constructor(response: ServerResponse, clock: ControlClock) {
		this.#response = response;
		this.#clock = clock;
		response.shouldKeepAlive = false;
		response.writeHead(200, {
			"content-type": "text/event-stream",
			"cache-control": "no-store",
		});
		response.flushHeaders();
		response.on("drain", () => {
			if (this.#state !== "blocked") return;
			this.#state = "idle";
			this.#flush();
		});
		response.on("close", () => {
			this.#state = "ended";
			this.#pending = [];
		});
	}

	/** Writes records before all others, as fast as the client reads them. */
	pushFirst(records: Iterable<string>): void {
		this.#first = records[Symbol.iterator]();
		this.#flush();
	}

	/** Adds a record that a slow client may lose. */
	push(name: string, data: unknown): void {
		if (this.#state === "ended") return;
		const record = recordOf(name, data);
		if (
			this.#pending.length >= PENDING_RECORDS ||
			this.#characters + record.length > PENDING_CHARACTERS
		) {
			this.#lost++;
			return;
		}
		this.#pending.push(record);
		this.#characters += record.length;
		this.#schedule();
	}

	/** Writes the pending records and then this one. A client that is behind gets neither: a newer record will follow. */
	pushLatest(record: string): void {
		if (this.#state === "ended" || this.#state === "blocked") return;
		this.#pending.push(record);
		this.#flush();
	}

	/** Writes what there is, as fast as the client reads it, and ends the stream. */
	end(): void {
		this.#more = "last";
		this.#flush();
	}

	#schedule(): void {
		if (this.#state !== "idle") return;
		if (this.#pending.length === 0 && this.#lost === 0) return;
		this.#state = "scheduled";
		this.#clock.after(FLUSH_MS, () => this.#flush());
	}

	#flush(): void {
		if (this.#state === "ended" || this.#state === "blocked") return;
		this.#state = "idle";
		for (let text = this.#takeFirst(); text !== ""; text = this.#takeFirst()) {
			if (this.#response.write(text)) continue;
			this.#state = "blocked";
			return;
		}
		if (this.#more === "last") {
			this.#response.end(this.#take());
			this.#state = "ended";
			return;
		}
		if (this.#pending.length === 0 && this.#lost === 0) return;
		const wentOut = this.#response.write(this.#take());
		this.#state = wentOut ? "idle" : "blocked";
	}

	/** A part of the first records; empty when all are written. */
	#takeFirst(): string {
		let text = "";
		while (this.#first !== undefined && text.length < PART_CHARACTERS) {
			const { done, value } = this.#first.next();
			if (done === true) this.#first = undefined;
			else text += value;
		}
		return text;
	}

	#take(): string {
		if (this.#lost > 0)
			this.#pending.push(recordOf("lost", { records: this.#lost }));
		const text = this.#pending.join("");
		this.#pending = [];
		this.#characters = 0;
		this.#lost = 0;
		return text;
	}
}

/** One server-sent event. */
export function recordOf(name: string, data: unknown): string {
	return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
