import { counted, duration, type EventPlaces, POOL } from "./event-place.ts";
import { codeOf } from "./worker-events.ts";

const CONTROL = { ...POOL, "snakepit.control.by": "by" } as const;

export const CONTROL_EVENTS: Pick<
	EventPlaces<"pool">,
	| "pool.paused"
	| "pool.resumed"
	| "pool.resized"
	| "pool.recycle_requested"
	| "pool.restart_requested"
	| "pool.reloaded"
	| "pool.reload_failed"
> = {
	"pool.paused": {
		group: "process",
		severity: "warn",
		line: ({ pool, by, waiting }) =>
			`pool ${pool} was paused by ${by}, ${counted(waiting, "call")} waiting`,
		attributes: CONTROL,
	},
	"pool.resumed": {
		group: "process",
		severity: "info",
		line: ({ pool, by }) => `pool ${pool} was resumed by ${by}`,
		attributes: CONTROL,
	},
	"pool.resized": {
		group: "process",
		severity: "info",
		line: ({ pool, by, min, max, before }) =>
			`pool ${pool} was resized by ${by} from ${before.min}-${before.max} to ${min}-${max} workers`,
		attributes: {
			...CONTROL,
			"snakepit.pool.min": "min",
			"snakepit.pool.max": "max",
		},
	},
	"pool.recycle_requested": {
		group: "process",
		severity: "info",
		line: ({ pool, by, target, manner }) =>
			`${by} recycles ${target === "all" ? `all workers of pool ${pool}` : target} (${manner})`,
		attributes: {
			...CONTROL,
			"snakepit.worker.id": ({ target }) =>
				target === "all" ? undefined : target,
		},
	},
	"pool.restart_requested": {
		group: "process",
		severity: "warn",
		line: ({ by, workerId }) => `${by} restarts ${workerId}`,
		attributes: { ...CONTROL, "snakepit.worker.id": "workerId" },
	},
	"pool.reloaded": {
		group: "process",
		severity: "info",
		line: ({ pool, files, durationMs }) =>
			`pool ${pool} replaced its workers after ${counted(files.length, "file")} changed (${duration(durationMs)})`,
		attributes: { ...POOL, "snakepit.duration": "durationMs" },
	},
	"pool.reload_failed": {
		group: "process",
		severity: "warn",
		line: ({ pool, files, error }) =>
			`pool ${pool} keeps its old workers, because no new one started after ${counted(files.length, "file")} changed: ${error.message}`,
		attributes: {
			...POOL,
			"error.type": ({ error }) => codeOf(error),
			"exception.message": ({ error }) => error.message,
		},
	},
};
