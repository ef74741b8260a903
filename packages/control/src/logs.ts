import type { ControlledEvent, ControlledRun } from "./controlled-run.ts";
import type { RecordStream } from "./record-stream.ts";

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
	/** The id of a worker. */
	readonly worker: string | undefined;
	readonly pool: string | undefined;
	readonly call: string | undefined;
}

const TEXT_CHARACTERS = 16_384;

/** Sends the lines that pass the filter, until the returned function is called. */
export function followLogs(
	run: Pick<ControlledRun, "subscribe">,
	filter: LogFilter,
	stream: RecordStream,
): () => void {
	return run.subscribe("logs", (event) => {
		const line = logLine(event);
		if (passes(line, filter)) stream.push("line", line);
	});
}

function passes(line: LogLine, { worker, pool, call }: LogFilter): boolean {
	return (
		(worker === undefined || line.workerId === worker) &&
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
