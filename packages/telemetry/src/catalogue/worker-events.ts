import type { SnakepitError } from "@snakepit/core";
import {
	type EventPlaces,
	type Severity,
	seconds,
	WORKER,
} from "./event-place.ts";
import { counted, duration } from "./wording.ts";

const LOG_SEVERITY = {
	debug: "debug",
	info: "info",
	warning: "warn",
	error: "error",
	critical: "fatal",
} as const satisfies Record<string, Severity>;

/** Ends that somebody wanted. */
const WANTED: readonly string[] = ["closed", "recycled", "host_exit"];

export const WORKER_EVENTS: Pick<
	EventPlaces,
	| "worker.starting"
	| "worker.spawned"
	| "worker.ready"
	| "worker.start_failed"
	| "worker.retiring"
	| "worker.condemned"
	| "worker.exited"
	| "worker.stop_step"
	| "worker.group_spared"
	| "worker.output"
	| "worker.logged"
> = {
	"worker.starting": {
		group: "process",
		spans: ["worker start"],
		metrics: ["snakepit.worker.starts", "snakepit.worker.restarts"],
	},
	"worker.spawned": { group: "process", spans: ["worker spawn"] },
	"worker.ready": {
		group: "process",
		spans: ["worker start", "worker launch", "worker connect"],
		metrics: ["snakepit.worker.start.duration"],
		told: {
			severity: "info",
			line: ({ workerId, pid, durationMs }) =>
				`${workerId} is ready after ${duration(durationMs)}, pid ${pid}`,
			attributes: {
				...WORKER,
				"process.pid": ({ pid }) => pid,
				"snakepit.worker.start.duration": ({ durationMs }) =>
					seconds(durationMs),
			},
		},
	},
	"worker.start_failed": {
		group: "process",
		spans: ["worker start"],
		metrics: ["snakepit.worker.start.duration"],
		told: {
			// A pool that closes takes back what it has begun: nothing is wrong then.
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
	},
	"worker.retiring": {
		group: "process",
		spans: ["worker stop"],
		told: {
			severity: "info",
			line: ({ workerId, reason }) =>
				`${workerId} finishes its calls and leaves: ${reason}`,
			attributes: { ...WORKER, "snakepit.reason": ({ reason }) => reason },
		},
	},
	"worker.condemned": {
		group: "process",
		spans: ["worker stop"],
		told: {
			severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
			line: ({ workerId, message }) => `${workerId} has to go: ${message}`,
			attributes: {
				...WORKER,
				"snakepit.worker.end.reason": ({ reason }) => reason,
				"snakepit.reason": ({ message }) => message,
			},
		},
	},
	"worker.exited": {
		group: "process",
		spans: ["worker stop"],
		metrics: ["snakepit.worker.exits", "snakepit.worker.stop.duration"],
		told: {
			severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
			line: ({ workerId, pid, exit, reason, lifetimeMs, callsLost }) => {
				const how =
					exit === undefined
						? "nobody knows how"
						: exit.kind === "code"
							? `exit code ${exit.code}`
							: exit.signal;
				return `${workerId} is gone after ${duration(lifetimeMs)}, pid ${pid ?? "unknown"}: ${reason}, ${how}, ${counted(callsLost, "call")} lost`;
			},
			attributes: {
				...WORKER,
				"process.pid": ({ pid }) => pid,
				"snakepit.worker.end.reason": ({ reason }) => reason,
				"snakepit.worker.end.killer": ({ killer }) => killer,
				"process.exit.code": ({ exit }) =>
					exit?.kind === "code" ? exit.code : undefined,
				"snakepit.worker.exit.signal": ({ exit }) =>
					exit?.kind === "signal" ? exit.signal : undefined,
				"snakepit.worker.uptime": ({ lifetimeMs }) => seconds(lifetimeMs),
				"snakepit.worker.calls_lost": ({ callsLost }) => callsLost,
				"snakepit.worker.tail": ({ tail }) =>
					tail.length === 0 ? undefined : tail,
			},
		},
	},
	"worker.stop_step": { group: "process", spans: ["worker stop"] },
	"worker.group_spared": {
		group: "process",
		told: {
			severity: "warn",
			line: ({ workerId, groupId, pids }) =>
				`${workerId} may have left ${counted(pids.length, "process")} in group ${groupId}, or they are others': left alone: ${pids.join(", ")}`,
			attributes: { ...WORKER, "process.pid": ({ groupId }) => groupId },
		},
	},
	"worker.output": {
		group: "process",
		onlyWith: "workerLogs",
		told: {
			severity: ({ stream }) => (stream === "stderr" ? "warn" : "info"),
			line: ({ workerId, line }) => `${workerId} | ${line}`,
			attributes: {
				...WORKER,
				"snakepit.call.id": ({ callId }) => callId,
			},
		},
	},
	"worker.logged": {
		group: "process",
		onlyWith: "workerLogs",
		told: {
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
	},
};

/** The stable code of an error of Snakepit, or the class of any other. */
export function codeOf(error: unknown): string {
	const { code, name } = (error ?? {}) as Partial<SnakepitError>;
	if (typeof code === "string") return code;
	return typeof name === "string" ? name : "Error";
}
