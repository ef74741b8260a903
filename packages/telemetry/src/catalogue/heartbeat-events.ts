import { type EventPlaces, seconds, WORKER } from "./event-place.ts";
import { counted, duration } from "./wording.ts";

export const HEARTBEAT_EVENTS: Pick<
	EventPlaces,
	| "heartbeat.sent"
	| "heartbeat.answered"
	| "heartbeat.missed"
	| "heartbeat.busy"
	| "heartbeat.suspended"
	| "heartbeat.hung"
> = {
	"heartbeat.sent": {
		group: "heartbeat",
		metrics: ["snakepit.heartbeat.sent"],
		note: "Every two seconds from every worker: counted, not told.",
	},
	"heartbeat.answered": {
		group: "heartbeat",
		metrics: ["snakepit.heartbeat.answered", "snakepit.heartbeat.latency"],
		note: "Counted and measured, not told.",
	},
	"heartbeat.missed": {
		group: "heartbeat",
		metrics: ["snakepit.heartbeat.missed"],
		told: {
			severity: "warn",
			line: ({ workerId, missedInARow }) =>
				`${workerId} did not answer a ping, ${missedInARow} in a row`,
			attributes: {
				...WORKER,
				"snakepit.heartbeat.missed_in_a_row": ({ missedInARow }) =>
					missedInARow,
				"snakepit.heartbeat.timeout": ({ timeoutMs }) => seconds(timeoutMs),
			},
		},
	},
	"heartbeat.busy": {
		group: "heartbeat",
		told: {
			severity: "warn",
			line: ({ workerId, silentMs }) =>
				`${workerId} has not answered for ${duration(silentMs)}, but it works`,
			attributes: {
				...WORKER,
				"snakepit.heartbeat.silence": ({ silentMs }) => seconds(silentMs),
				"snakepit.heartbeat.cpu_time": ({ cpuAdvancedMs }) =>
					seconds(cpuAdvancedMs),
			},
		},
	},
	"heartbeat.suspended": {
		group: "heartbeat",
		told: {
			severity: "info",
			line: ({ workerId, reason }) =>
				`${workerId} is not judged by its silence: ${reason}`,
			attributes: { ...WORKER, "snakepit.reason": ({ reason }) => reason },
		},
	},
	"heartbeat.hung": {
		group: "heartbeat",
		told: {
			severity: "error",
			line: ({ workerId, cause, silentMs, missedInARow }) =>
				`${workerId} hangs (${cause}): silent for ${duration(silentMs)}, ${counted(missedInARow, "ping")} missed in a row`,
			attributes: {
				...WORKER,
				"snakepit.reason": ({ cause }) => cause,
				"snakepit.heartbeat.silence": ({ silentMs }) => seconds(silentMs),
				"snakepit.heartbeat.missed_in_a_row": ({ missedInARow }) =>
					missedInARow,
			},
		},
	},
};
