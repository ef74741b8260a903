import {
	isRunId,
	type ProcessIdentity,
	type RunId,
} from "@snakepit/core/infrastructure";

/** One run of the host, as its watchdog knows it. */
interface WatchedRun {
	readonly runId: RunId;
	readonly owner: ProcessIdentity;
	/** The value of the marker variable of its workers. */
	readonly marker: string;
	readonly dataDir: string;
	readonly runDirectory: string;
	readonly graceMs: number;
	readonly checkIntervalMs: number;
}

/** A message of a host to its watchdog. */
export type HostMessage =
	| ({ readonly type: "run" } & WatchedRun)
	| {
			readonly type: "watch";
			readonly runId: RunId;
			readonly incarnation: string;
			readonly identity: ProcessIdentity;
			readonly groupId: number;
	  }
	| {
			readonly type: "unwatch";
			readonly runId: RunId;
			readonly incarnation: string;
	  }
	/** The run has ended in order. */
	| { readonly type: "farewell"; readonly runId: RunId };

/** What a watchdog writes once it listens. */
export const READY = "ready\n";

/** A longer line is not a message. */
export const MESSAGE_LIMIT_BYTES = 65_536;

/** One line of JSON. */
export function formatMessage(message: HostMessage): string {
	return `${JSON.stringify(message)}\n`;
}

/** Parses one line; returns `undefined` if it is not exactly a message. Ignores unknown fields. */
function parseMessage(line: string): HostMessage | undefined {
	const fields = parseObject(line);
	const runId = fields?.["runId"];
	if (fields === undefined || typeof runId !== "string" || !isRunId(runId))
		return undefined;
	const { type, incarnation } = fields;
	switch (type) {
		case "run":
			return parseRun(fields, runId);
		case "watch": {
			const identity = parseIdentity(fields["identity"]);
			const { groupId } = fields;
			if (!isText(incarnation) || identity === undefined || !isGroup(groupId))
				return undefined;
			return { type, runId, incarnation, identity, groupId };
		}
		case "unwatch":
			return isText(incarnation) ? { type, runId, incarnation } : undefined;
		case "farewell":
			return { type, runId };
		default:
			return undefined;
	}
}

type Fields = Readonly<Record<string, unknown>>;

function parseRun(fields: Fields, runId: RunId): HostMessage | undefined {
	const { marker, dataDir, runDirectory, graceMs, checkIntervalMs } = fields;
	const owner = parseIdentity(fields["owner"]);
	if (owner === undefined || !isText(marker)) return undefined;
	if (!isPath(dataDir) || !isPath(runDirectory)) return undefined;
	if (!isDelay(graceMs) || !isDelay(checkIntervalMs)) return undefined;
	const limits = { graceMs, checkIntervalMs };
	return {
		type: "run",
		runId,
		owner,
		marker,
		dataDir,
		runDirectory,
		...limits,
	};
}

function parseIdentity(value: unknown): ProcessIdentity | undefined {
	if (!isObject(value)) return undefined;
	const { machineId, bootId, pidNamespace, pid, startTime } = value;
	if (!isText(machineId) || !isText(bootId) || !isText(pidNamespace))
		return undefined;
	if (!isPid(pid) || !isText(startTime)) return undefined;
	return { machineId, bootId, pidNamespace, pid, startTime };
}

function parseObject(text: string): Fields | undefined {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isObject(value: unknown): value is Fields {
	return typeof value === "object" && value !== null;
}

function isText(value: unknown): value is string {
	return typeof value === "string" && value !== "" && value.length <= 4096;
}

function isPath(value: unknown): value is string {
	return isText(value) && value.startsWith("/");
}

function isPid(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) > 0;
}

/** A signal to group 0 or 1 would reach foreign processes. */
function isGroup(value: unknown): value is number {
	return isPid(value) && value > 1;
}

function isDelay(value: unknown): value is number {
	return (
		Number.isSafeInteger(value) &&
		(value as number) >= 0 &&
		(value as number) < 2 ** 31
	);
}

const NEWLINE = 0x0a;

/**
 * Splits the bytes of the pipe into messages.
 *
 * Ignores lines that are not a message or are too long: a watchdog continues with what it knows. A message that was
 * cut off by the host's death is ignored as well.
 */
export class MessageReader {
	#rest: Buffer = Buffer.alloc(0);
	/** Whether the line became too long, so that its beginning was dropped. */
	#overlong = false;

	push(chunk: Buffer): readonly HostMessage[] {
		const messages: HostMessage[] = [];
		let from = 0;
		for (
			let end = chunk.indexOf(NEWLINE);
			end !== -1;
			end = chunk.indexOf(NEWLINE, from)
		) {
			const line = this.#line(chunk.subarray(from, end));
			from = end + 1;
			const message = line === undefined ? undefined : parseMessage(line);
			if (message !== undefined) messages.push(message);
		}
		this.#keep(chunk.subarray(from));
		return messages;
	}

	/** Ends the line that was begun; `undefined` when it is too long. */
	#line(end: Buffer): string | undefined {
		const bytes = this.#rest.length + end.length;
		const isLine = !this.#overlong && bytes <= MESSAGE_LIMIT_BYTES;
		const line = isLine ? Buffer.concat([this.#rest, end]) : undefined;
		this.#rest = Buffer.alloc(0);
		this.#overlong = false;
		return line?.toString("utf8");
	}

	#keep(beginning: Buffer): void {
		if (this.#rest.length + beginning.length <= MESSAGE_LIMIT_BYTES) {
			this.#rest = Buffer.concat([this.#rest, beginning]);
			return;
		}
		this.#rest = Buffer.alloc(0);
		this.#overlong = true;
	}
}

/** A worker that the host has reported. */
export interface ListedWorker {
	readonly incarnation: string;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
}

export interface ListedRun extends WatchedRun {
	readonly workers: ReadonlyMap<string, ListedWorker>;
}

/** The runs of the host and their workers. */
export class WatchList {
	readonly #runs = new Map<
		RunId,
		WatchedRun & { readonly workers: Map<string, ListedWorker> }
	>();

	get runs(): readonly ListedRun[] {
		return [...this.#runs.values()];
	}

	/** Applies a message; ignores one of an unknown run. */
	apply(message: HostMessage): void {
		const { type, runId } = message;
		const run = this.#runs.get(runId);
		switch (type) {
			case "run": {
				const { type: _, ...facts } = message;
				this.#runs.set(runId, {
					...facts,
					workers: run?.workers ?? new Map(),
				});
				return;
			}
			case "watch": {
				const { incarnation, identity, groupId } = message;
				run?.workers.set(incarnation, { incarnation, identity, groupId });
				return;
			}
			case "unwatch":
				run?.workers.delete(message.incarnation);
				return;
			case "farewell":
				this.#runs.delete(runId);
		}
	}
}
