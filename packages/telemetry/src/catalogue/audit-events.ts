import { type EventPlaces, RUN } from "./event-place.ts";

const STRAY = {
	...RUN,
	"process.pid": ({ pid }: { readonly pid: number }): number => pid,
	"snakepit.worker.incarnation": ({
		incarnation,
	}: {
		readonly incarnation: string | undefined;
	}): string | undefined => incarnation,
} as const;

export const AUDIT_EVENTS: Pick<
	EventPlaces,
	| "audit.stray_found"
	| "audit.stray_killed"
	| "audit.stray_spared"
	| "audit.failed"
> = {
	"audit.stray_found": {
		group: "process",
		metrics: ["snakepit.orphan.found", "snakepit.orphan.last_seen"],
		told: {
			severity: "warn",
			line: ({ pid, name, of }) =>
				`stray: pid ${pid} (${name}) carries our marker, and its worker is ${of}`,
			attributes: { ...STRAY, "snakepit.reason": ({ of }) => of },
		},
	},
	"audit.stray_killed": {
		group: "process",
		metrics: ["snakepit.orphan.killed"],
		told: {
			severity: "warn",
			line: ({ pid, how }) => `stray ${pid}: ${how}`,
			attributes: { ...STRAY, "snakepit.orphan.end": ({ how }) => how },
		},
	},
	"audit.stray_spared": {
		group: "process",
		told: {
			severity: "warn",
			line: ({ pid, reason }) => `stray ${pid} was left alone: ${reason}`,
			attributes: { ...STRAY, "snakepit.reason": ({ reason }) => reason },
		},
	},
	"audit.failed": {
		group: "process",
		told: {
			severity: "warn",
			line: ({ reason }) => `the run could not be audited: ${reason}`,
			attributes: { ...RUN, "snakepit.reason": ({ reason }) => reason },
		},
	},
};
