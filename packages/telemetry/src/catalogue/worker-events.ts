import type { SnakepitError } from "@snakepit/core";
import {
	counted,
	duration,
	type EventPlaces,
	POOL,
	type Severity,
	WORKER,
} from "./event-place.ts";

const LOG_SEVERITY = {
	debug: "debug",
	info: "info",
	warning: "warn",
	error: "error",
	critical: "fatal",
} as const satisfies Record<string, Severity>;

/** Ends that somebody wanted. */
const WANTED: readonly string[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
];

export const WORKER_EVENTS: EventPlaces<"worker"> = {
	"worker.starting": {
		group: "process",
		spans: ["worker start"],
		counts: { "snakepit.worker.starts": POOL },
		metrics: ["snakepit.worker.restarts"],
	},
	"worker.spawned": { group: "process", spans: ["worker spawn"] },
	"worker.ready": {
		group: "process",
		spans: ["worker start", "worker launch", "worker connect"],
		metrics: ["snakepit.worker.start.duration"],
		severity: "info",
		line: ({ workerId, pid, durationMs }) =>
			`${workerId} is ready after ${duration(durationMs)}, pid ${pid}`,
		attributes: {
			...WORKER,
			"process.pid": "pid",
			"snakepit.worker.start.duration": "durationMs",
		},
	},
	"worker.start_failed": {
		group: "process",
		spans: ["worker start"],
		metrics: ["snakepit.worker.start.duration"],
		// A pool that closes withdraws starts that it has begun; that is not an error.
		severity: ({ error }) =>
			codeOf(error) === "START_WITHDRAWN" ? "info" : "error",
		line: ({ workerId, error }) =>
			`${workerId} did not start: ${error.message}`,
		attributes: {
			...WORKER,
			"error.type": ({ error }) => codeOf(error),
			"exception.message": ({ error }) => error.message,
		},
	},
	"worker.retiring": {
		group: "process",
		spans: ["worker stop"],
		severity: "info",
		line: ({ workerId, reason }) =>
			`${workerId} finishes its calls and leaves: ${reason}`,
		attributes: { ...WORKER, "snakepit.reason": "reason" },
	},
	"worker.condemned": {
		group: "process",
		spans: ["worker stop"],
		severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
		line: ({ workerId, message }) => `${workerId} must be stopped: ${message}`,
		attributes: {
			...WORKER,
			"snakepit.worker.end.reason": "reason",
			"snakepit.reason": "message",
		},
	},
	"worker.exited": {
		group: "process",
		spans: ["worker stop"],
		metrics: ["snakepit.worker.exits", "snakepit.worker.stop.duration"],
		severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
		line: ({ workerId, pid, exit, reason, lifetimeMs, callsLost }) => {
			const how =
				exit === undefined
					? "exit status unknown"
					: exit.kind === "code"
						? `exit code ${exit.code}`
						: exit.signal;
			return `${workerId} is gone after ${duration(lifetimeMs)}, pid ${pid ?? "unknown"}: ${reason}, ${how}, ${counted(callsLost, "call")} lost`;
		},
		attributes: {
			...WORKER,
			"process.pid": "pid",
			"snakepit.worker.end.reason": "reason",
			"snakepit.worker.end.killer": "killer",
			"process.exit.code": ({ exit }) =>
				exit?.kind === "code" ? exit.code : undefined,
			"snakepit.worker.exit.signal": ({ exit }) =>
				exit?.kind === "signal" ? exit.signal : undefined,
			"snakepit.worker.uptime": "lifetimeMs",
			"snakepit.worker.calls_lost": "callsLost",
			"snakepit.worker.tail": ({ tail }) =>
				tail.length === 0 ? undefined : tail,
		},
	},
	"worker.stop_step": { group: "process", spans: ["worker stop"] },
	"worker.group_spared": {
		group: "process",
		severity: "warn",
		line: ({ workerId, groupId, pids }) =>
			`${workerId} may have left ${counted(pids.length, "process")} in group ${groupId}, or they belong to another program; left alone: ${pids.join(", ")}`,
		attributes: { ...WORKER, "process.pid": "groupId" },
	},
	"worker.output": {
		group: "process",
		onlyWith: "workerLogs",
		severity: ({ stream }) => (stream === "stderr" ? "warn" : "info"),
		line: ({ workerId, line }) => `${workerId} | ${line}`,
		attributes: {
			...WORKER,
			"snakepit.call.id": "callId",
		},
	},
	"worker.logged": {
		group: "process",
		onlyWith: "workerLogs",
		severity: ({ record }) => LOG_SEVERITY[record.level],
		line: ({ workerId, record }) =>
			`${workerId} | ${record.logger}: ${record.message}`,
		attributes: {
			...WORKER,
			"snakepit.log.logger": ({ record }) => record.logger,
			"snakepit.call.id": ({ record }) => record.callId,
			"exception.stacktrace": ({ record }) => record.traceback,
		},
	},
	"worker.notified": {
		group: "process",
		onlyWith: "workerLogs",
		severity: "info",
		line: ({ workerId, notification }) =>
			`${workerId} | notification ${notification}`,
		attributes: {
			...WORKER,
			"snakepit.worker.notification": "notification",
		},
	},
};

/** The stable code of a Snakepit error, or the class of any other error. */
export function codeOf(error: unknown): string {
	const { code, name } = (error ?? {}) as Partial<SnakepitError>;
	if (typeof code === "string") return code;
	return typeof name === "string" ? name : "Error";
}
