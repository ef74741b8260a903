import { type EventPlaces, POOL } from "./event-place.ts";

export const CALL_EVENTS: EventPlaces<"call" | "session"> = {
	"call.accepted": { group: "calls", spans: ["call", "queue"] },
	"call.dispatched": {
		group: "calls",
		spans: ["attempt"],
		metrics: ["snakepit.call.wait_time"],
	},
	"call.released": {
		group: "calls",
		spans: ["attempt"],
		metrics: ["snakepit.attempt.duration"],
	},
	"call.retried": {
		group: "calls",
		spans: ["call"],
		counts: { "snakepit.call.retries": { ...POOL, "error.type": "because" } },
	},
	"call.settled": {
		group: "calls",
		spans: ["call"],
		metrics: ["snakepit.call.duration"],
	},
	"session.started": {
		group: "calls",
		metrics: ["snakepit.session.count"],
		severity: "debug",
		line: ({ sessionId }) => `session ${sessionId} was opened`,
		attributes: {
			...POOL,
			"snakepit.session.id": "sessionId",
		},
	},
	"session.ended": {
		group: "calls",
		metrics: ["snakepit.session.count"],
		severity: ({ reason }) => (reason === "lost" ? "warn" : "debug"),
		line: ({ sessionId, reason }) => `session ${sessionId} is over: ${reason}`,
		attributes: {
			...POOL,
			"snakepit.session.id": "sessionId",
			"snakepit.session.end.reason": "reason",
		},
	},
};
