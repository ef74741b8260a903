import { type EventPlaces, POOL } from "./event-place.ts";

export const CALL_EVENTS: Pick<
	EventPlaces,
	| "call.accepted"
	| "call.dispatched"
	| "call.released"
	| "call.retried"
	| "call.settled"
	| "session.started"
	| "session.ended"
> = {
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
		metrics: ["snakepit.call.retries"],
	},
	"call.settled": {
		group: "calls",
		spans: ["call"],
		metrics: ["snakepit.call.duration"],
	},
	"session.started": {
		group: "calls",
		metrics: ["snakepit.session.count"],
		told: {
			severity: "debug",
			line: ({ sessionId }) => `session ${sessionId} was opened`,
			attributes: {
				...POOL,
				"snakepit.session.id": ({ sessionId }) => sessionId,
			},
		},
	},
	"session.ended": {
		group: "calls",
		metrics: ["snakepit.session.count"],
		told: {
			severity: ({ reason }) => (reason === "lost" ? "warn" : "debug"),
			line: ({ sessionId, reason }) =>
				`session ${sessionId} is over: ${reason}`,
			attributes: {
				...POOL,
				"snakepit.session.id": ({ sessionId }) => sessionId,
				"snakepit.session.end.reason": ({ reason }) => reason,
			},
		},
	},
};
