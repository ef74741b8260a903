import type {
	ControlledEvent,
	ControlledRun,
	LogBacklog,
} from "./controlled-run.ts";
import { type RecordStream, recordOf } from "./record-stream.ts";

/** One line that a worker printed, or one record of its logging. */
export interface LogLine {
	readonly wallMs: number;
	readonly pool: string;
	readonly workerId: string;
	readonly incarnation: string;
	/** The call that it belongs to; `null` if that is not known. */
	readonly callId: string | null;
	readonly from: "stdout" | "stderr" | "logging";
	/** Of a record of logging. */
	readonly level: string | null;
	readonly logger: string | null;
	/** As the worker wrote it: control characters included. */
	readonly text: string;
	/** It was longer, and is cut. */
	readonly cut: boolean;
}

/** Which lines a client wants. */
export interface LogFilter {
	/** The id of a worker, or of one incarnation of it. */
	readonly worker: string | undefined;
	readonly pool: string | undefined;
	readonly call: string | undefined;
	/** Also lines from before the request: those that were printed since then, in milliseconds since the Unix epoch, */
	readonly sinceMs: number | undefined;
	/** and of them at most so many, the last ones. */
	readonly tail: number | undefined;
	/** Whether lines from now on are sent, too. */
	readonly follow: boolean;
}

const TEXT_CHARACTERS = 16_384;

/**
 * Sends the lines that pass the filter, first those that are kept: `dropped` with the number of those that are missing
 * before them, the lines, and `following`. The stream ends then, or the lines that come are sent until the returned
 * function is called.
 */
export function streamLogs(
	run: Pick<ControlledRun, "subscribe" | "backlog">,
	filter: LogFilter,
	stream: RecordStream,
): () => void {
	const end = filter.follow
		? run.subscribe("logs", (event) => {
				const line = logLine(event);
				if (passes(line, filter)) stream.push("line", line);
			})
		: () => {};
	stream.pushFirst(keptRecords(run, filter));
	if (!filter.follow) stream.end();
	return end;
}

/** The records before the first new line. What is kept is looked at now, and each line is written when it can be sent. */
function keptRecords(
	run: Pick<ControlledRun, "backlog">,
	filter: LogFilter,
): Iterable<string> {
	const { sinceMs, tail, follow } = filter;
	const following = follow ? [recordOf("following", {})] : [];
	if (sinceMs === undefined && tail === undefined) return following;
	const { events, dropped } = run.backlog();
	const kept = events.map(logLine).filter((line) => passes(line, filter));
	const recent = kept.filter(({ wallMs }) => wallMs >= (sinceMs ?? 0));
	const shown =
		tail === undefined ? recent : tail === 0 ? [] : recent.slice(-tail);
	const isFull = tail !== undefined && shown.length === tail;
	const beginMs = isFull
		? (shown[0]?.wallMs ?? Number.MAX_VALUE)
		: (sinceMs ?? 0);
	const missing =
		filter.call === undefined ? missingSince(beginMs, kept, dropped) : 0;
	return records(
		missing === 0 ? [] : [recordOf("dropped", { lines: missing })],
		shown,
		following,
	);
}

function* records(
	before: readonly string[],
	lines: readonly LogLine[],
	after: readonly string[],
): Generator<string, void> {
	yield* before;
	for (const line of lines) yield recordOf("line", line);
	yield* after;
}

/** How many lines of the workers that `kept` shows are not kept any more, and may be from `beginMs` or later. */
function missingSince(
	beginMs: number,
	kept: readonly LogLine[],
	dropped: LogBacklog["dropped"],
): number {
	const oldest = new Map<string, number>();
	for (const { workerId, wallMs } of kept)
		if (!oldest.has(workerId)) oldest.set(workerId, wallMs);
	return [...oldest].reduce(
		(sum, [workerId, wallMs]) =>
			sum + (wallMs > beginMs ? (dropped.get(workerId) ?? 0) : 0),
		0,
	);
}

function passes(line: LogLine, { worker, pool, call }: LogFilter): boolean {
	return (
		(worker === undefined ||
			line.workerId === worker ||
			line.incarnation === worker) &&
		(pool === undefined || line.pool === pool) &&
		(call === undefined || line.callId === call)
	);
}

function logLine(event: ControlledEvent): LogLine {
	const { wallMs, pool, workerId, incarnation } = event as unknown as LogLine;
	const about = { wallMs, pool, workerId, incarnation };
	if (event.type === "worker.output") {
		const { stream, line, cut, callId } = event as unknown as {
			stream: "stdout" | "stderr";
			line: string;
			cut: boolean;
			callId: string | undefined;
		};
		return {
			...about,
			callId: callId ?? null,
			from: stream,
			level: null,
			logger: null,
			text: line,
			cut,
		};
	}
	const { record } = event as unknown as {
		record: {
			level: string;
			logger: string;
			message: string;
			callId?: string;
			traceback?: string;
		};
	};
	const whole =
		record.traceback === undefined
			? record.message
			: `${record.message}\n${record.traceback}`;
	return {
		...about,
		callId: record.callId ?? null,
		from: "logging",
		level: record.level,
		logger: record.logger,
		text: whole.slice(0, TEXT_CHARACTERS),
		cut: whole.length > TEXT_CHARACTERS,
	};
}
