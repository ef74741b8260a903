import {
	counted,
	duration,
	type EventPlaces,
	POOL,
	WORKER,
} from "./event-place.ts";

export const HEARTBEAT_EVENTS: EventPlaces<"heartbeat"> = {
	"heartbeat.sent": {
		group: "heartbeat",
		counts: { "snakepit.heartbeat.sent": POOL },
		note: "Every two seconds from every worker: only counted.",
	},
	"heartbeat.answered": {
		group: "heartbeat",
		counts: { "snakepit.heartbeat.answered": POOL },
		metrics: ["snakepit.heartbeat.latency"],
		note: "Only counted and measured.",
	},
	"heartbeat.missed": {
		group: "heartbeat",
		counts: { "snakepit.heartbeat.missed": POOL },
		severity: "warn",
		line: ({ workerId, missedInARow }) =>
			`${workerId} did not answer a ping, ${missedInARow} in a row`,
		attributes: {
			...WORKER,
			"snakepit.heartbeat.missed_in_a_row": "missedInARow",
			"snakepit.heartbeat.timeout": "timeoutMs",
		},
	},
	"heartbeat.busy": {
		group: "heartbeat",
		severity: "warn",
		line: ({ workerId, silentMs }) =>
			`${workerId} has not answered for ${duration(silentMs)}, but it uses the processor`,
		attributes: {
			...WORKER,
			"snakepit.heartbeat.silence": "silentMs",
			"snakepit.heartbeat.cpu_time": "cpuAdvancedMs",
		},
	},
	"heartbeat.suspended": {
		group: "heartbeat",
		severity: "info",
		line: ({ workerId, reason }) =>
			`the heartbeat of ${workerId} is suspended: ${reason}`,
		attributes: { ...WORKER, "snakepit.reason": "reason" },
	},
	"heartbeat.hung": {
		group: "heartbeat",
		severity: "error",
		line: ({ workerId, cause, silentMs, missedInARow }) =>
			`${workerId} is hung (${cause}): silent for ${duration(silentMs)}, ${counted(missedInARow, "ping")} missed in a row`,
		attributes: {
			...WORKER,
			"snakepit.reason": "cause",
			"snakepit.heartbeat.silence": "silentMs",
			"snakepit.heartbeat.missed_in_a_row": "missedInARow",
		},
	},
};
