import { duration, type EventPlaces } from "./event-place.ts";

const JOB = {
	"snakepit.job.id": "jobId",
	"snakepit.job.program": "program",
} as const;

export const JOB_EVENTS: EventPlaces<"job"> = {
	"job.accepted": { group: "process", spans: ["job"] },
	"job.started": {
		group: "process",
		spans: ["job"],
		severity: "debug",
		line: ({ jobId, program, pid, waitedMs }) =>
			`job ${jobId} runs ${program}, pid ${pid}, after ${duration(waitedMs)}`,
		attributes: {
			...JOB,
			"process.pid": "pid",
			"snakepit.duration": "waitedMs",
		},
	},
	"job.settled": {
		group: "process",
		spans: ["job"],
		severity: ({ outcome }) => (outcome === "succeeded" ? "debug" : "warn"),
		line: ({ jobId, program, outcome, code, ranMs }) =>
			`job ${jobId} (${program}) ${outcome} after ${duration(ranMs)}${code === undefined ? "" : `: ${code}`}`,
		attributes: {
			...JOB,
			"snakepit.job.outcome": "outcome",
			"error.type": "code",
			"process.exit.code": ({ exit }) =>
				exit?.kind === "code" ? exit.code : undefined,
			"snakepit.worker.exit.signal": ({ exit }) =>
				exit?.kind === "signal" ? exit.signal : undefined,
			"snakepit.worker.end.killer": "killer",
			"snakepit.duration": "ranMs",
			"snakepit.worker.tail": ({ tail }) =>
				tail.length === 0 ? undefined : tail,
		},
	},
};
