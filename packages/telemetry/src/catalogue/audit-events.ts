import { type EventPlaces, RUN } from "./event-place.ts";

const STRAY = {
	...RUN,
	"process.pid": "pid",
	"snakepit.worker.incarnation": "incarnation",
} as const;

export const AUDIT_EVENTS: EventPlaces<"audit"> = {
	"audit.stray_found": {
		group: "process",
		counts: { "snakepit.orphan.found": {} },
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, name, of }) =>
			`stray: pid ${pid} (${name}) carries our marker, and its worker is ${of}`,
		attributes: { ...STRAY, "snakepit.reason": "of" },
	},
	"audit.stray_killed": {
		group: "process",
		counts: {
			"snakepit.orphan.killed": { "snakepit.found_by": () => "marker" },
		},
		severity: "warn",
		line: ({ pid, how }) => `stray ${pid}: ${how}`,
		attributes: { ...STRAY, "snakepit.orphan.end": "how" },
	},
	"audit.stray_spared": {
		group: "process",
		severity: "warn",
		line: ({ pid, reason }) => `stray ${pid} was left alone: ${reason}`,
		attributes: { ...STRAY, "snakepit.reason": "reason" },
	},
	"audit.failed": {
		group: "process",
		severity: "warn",
		line: ({ reason }) => `the run could not be audited: ${reason}`,
		attributes: { ...RUN, "snakepit.reason": "reason" },
	},
};
