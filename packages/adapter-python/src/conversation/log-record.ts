import type { WorkerLogRecord } from "@snakepit/core/adapter";
import type { Log } from "../gen/bridge.ts";

/** One of Python's records, as core reports it. */
export function logRecordOf(
	log: Log,
	callId: string | undefined,
): WorkerLogRecord {
	return {
		level: levelOf(log.level),
		logger: log.logger,
		message: log.message,
		wallMs: log.timeUs / 1000,
		...(callId !== undefined && { callId }),
		...(log.traceback !== "" && { traceback: log.traceback }),
		...(log.handled && { handledBy: "worker" as const }),
		...(log.traceId !== "" && { traceId: log.traceId }),
		...(log.spanId !== "" && { spanId: log.spanId }),
	};
}

/** Levels between Python's own belong to the next lower one. */
function levelOf(level: number): WorkerLogRecord["level"] {
	if (level < 20) return "debug";
	if (level < 30) return "info";
	if (level < 40) return "warning";
	return level < 50 ? "error" : "critical";
}
