import type { EventPlaces } from "./event-place.ts";
import { counted, duration } from "./event-place.ts";

const PROTECTION = { "snakepit.protection.name": "protection" } as const;

export const PROTECTION_EVENTS: EventPlaces<"protection"> = {
	"protection.started": {
		group: "watchdog",
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ protection, pid }) => `the ${protection} is running, pid ${pid}`,
		attributes: {
			...PROTECTION,
			"process.pid": "pid",
			"snakepit.duration": "durationMs",
			"snakepit.protection.restarts": "restarts",
		},
	},
	"protection.ended": {
		group: "watchdog",
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ protection, pid, how, loss }) =>
			`the ${protection}, pid ${pid}, has ended: ${how}${loss === undefined ? "" : `, ${loss}`}`,
		attributes: {
			...PROTECTION,
			"process.pid": "pid",
			"snakepit.reason": "how",
			"process.exit.code": ({ exit }) =>
				exit?.kind === "code" ? exit.code : undefined,
			"snakepit.worker.exit.signal": ({ exit }) =>
				exit?.kind === "signal" ? exit.signal : undefined,
		},
	},
	"protection.unavailable": {
		group: "watchdog",
		severity: "warn",
		line: ({ protection, reason }) =>
			`the ${protection} is not available: ${reason}`,
		attributes: { ...PROTECTION, "snakepit.reason": "reason" },
	},
	"protection.host_death_detected": {
		group: "watchdog",
		counts: { "snakepit.protection.activations": PROTECTION },
		metrics: ["snakepit.protection.last_activation"],
		severity: "fatal",
		line: ({ protection, ofRun }) =>
			`the ${protection} of run ${ofRun} saw the death of its host`,
		attributes: {
			...PROTECTION,
			"snakepit.run.of": "ofRun",
			"process.pid": "pid",
			"snakepit.protection.detection_time": "detectionMs",
		},
	},
	"protection.process_killed": {
		group: "watchdog",
		counts: {
			"snakepit.protection.kills": {
				...PROTECTION,
				"snakepit.found_by": "foundBy",
			},
		},
		severity: "warn",
		line: ({ protection, ofRun, pid }) =>
			`the ${protection} of run ${ofRun} ended pid ${pid} after the death of its host`,
		attributes: {
			...PROTECTION,
			"snakepit.run.of": "ofRun",
			"process.pid": "pid",
			"snakepit.worker.incarnation": "incarnation",
			"snakepit.found_by": "foundBy",
			"snakepit.signal": "signal",
		},
	},
	"protection.run_settled": {
		group: "watchdog",
		spans: ["protection settle"],
		severity: "warn",
		line: ({ protection, ofRun, killed, durationMs }) =>
			`the ${protection} of run ${ofRun} finished ${duration(durationMs)} after the death of its host: ${counted(killed, "process", "processes")} ended`,
		attributes: {
			...PROTECTION,
			"snakepit.run.of": "ofRun",
			"snakepit.protection.killed": "killed",
			"snakepit.duration": "durationMs",
		},
	},
};
