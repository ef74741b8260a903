import { type EventPlaces, seconds } from "./event-place.ts";
import { counted, duration } from "./wording.ts";

const PROTECTION = {
	"snakepit.protection.name": ({
		protection,
	}: {
		readonly protection: string;
	}): string => protection,
} as const;

export const PROTECTION_EVENTS: Pick<
	EventPlaces,
	| "protection.started"
	| "protection.ended"
	| "protection.unavailable"
	| "protection.host_death_detected"
	| "protection.process_killed"
	| "protection.run_settled"
> = {
	"protection.started": {
		group: "watchdog",
		told: {
			severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
			line: ({ protection, pid }) => `the ${protection} is at work, pid ${pid}`,
			attributes: {
				...PROTECTION,
				"process.pid": ({ pid }) => pid,
				"snakepit.duration": ({ durationMs }) => seconds(durationMs),
				"snakepit.protection.restarts": ({ restarts }) => restarts,
			},
		},
	},
	"protection.ended": {
		group: "watchdog",
		told: {
			severity: ({ how }) => (how === "lost" ? "error" : "info"),
			line: ({ protection, pid, how }) =>
				`the ${protection}, pid ${pid}, has ended: ${how}`,
			attributes: {
				...PROTECTION,
				"process.pid": ({ pid }) => pid,
				"snakepit.reason": ({ how }) => how,
				"process.exit.code": ({ exit }) =>
					exit?.kind === "code" ? exit.code : undefined,
				"snakepit.worker.exit.signal": ({ exit }) =>
					exit?.kind === "signal" ? exit.signal : undefined,
			},
		},
	},
	"protection.unavailable": {
		group: "watchdog",
		told: {
			severity: "warn",
			line: ({ protection, reason }) =>
				`the ${protection} is not available: ${reason}`,
			attributes: { ...PROTECTION, "snakepit.reason": ({ reason }) => reason },
		},
	},
	"protection.host_death_detected": {
		group: "watchdog",
		metrics: [
			"snakepit.protection.activations",
			"snakepit.protection.last_activation",
		],
		told: {
			severity: "fatal",
			line: ({ protection, ofRun }) =>
				`the ${protection} of run ${ofRun} saw the death of its host`,
			attributes: {
				...PROTECTION,
				"snakepit.run.of": ({ ofRun }) => ofRun,
				"process.pid": ({ pid }) => pid,
			},
		},
	},
	"protection.process_killed": {
		group: "watchdog",
		metrics: ["snakepit.protection.kills"],
		told: {
			severity: "warn",
			line: ({ protection, ofRun, pid }) =>
				`the ${protection} of run ${ofRun} ended pid ${pid} after the death of its host`,
			attributes: {
				...PROTECTION,
				"snakepit.run.of": ({ ofRun }) => ofRun,
				"process.pid": ({ pid }) => pid,
				"snakepit.worker.incarnation": ({ incarnation }) => incarnation,
				"snakepit.found_by": ({ foundBy }) => foundBy,
				"snakepit.signal": ({ signal }) => signal,
			},
		},
	},
	"protection.run_settled": {
		group: "watchdog",
		spans: ["protection settle"],
		told: {
			severity: "warn",
			line: ({ protection, ofRun, killed, durationMs }) =>
				`the ${protection} of run ${ofRun} was done ${duration(durationMs)} after the death of its host: ${counted(killed, "process", "processes")} ended`,
			attributes: {
				...PROTECTION,
				"snakepit.run.of": ({ ofRun }) => ofRun,
				"snakepit.protection.killed": ({ killed }) => killed,
				"snakepit.duration": ({ durationMs }) => seconds(durationMs),
			},
		},
	},
};
