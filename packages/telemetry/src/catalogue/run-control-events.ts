import { type EventPlaces, POOL, RUN } from "./event-place.ts";

export const RUN_CONTROL_EVENTS: EventPlaces<"control"> = {
	"control.requested": {
		group: "process",
		severity: "info",
		line: ({ pool, act, target, by }) =>
			`${by} asked for ${act}${target === undefined ? "" : ` ${target}`} of pool ${pool}`,
		attributes: {
			...RUN,
			...POOL,
			"snakepit.control.act": "act",
			"snakepit.control.target": "target",
			"snakepit.control.by": "by",
		},
	},
	"control.unavailable": {
		group: "process",
		severity: "warn",
		line: ({ reason }) =>
			`this run cannot be inspected or controlled: ${reason}`,
		attributes: { ...RUN, "snakepit.reason": "reason" },
	},
};
