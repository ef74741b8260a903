import type { EventOf } from "@snakepit/core";
import { CONTROL_EVENTS } from "./control-events.ts";
import {
	counted,
	duration,
	type EventPlaces,
	POOL,
	RUN,
} from "./event-place.ts";
import { codeOf } from "./worker-events.ts";

export const RUN_EVENTS: EventPlaces<
	| "run"
	| "cleanup"
	| "orphan"
	| "pool"
	| "preload"
	| "companion"
	| "host"
	| "telemetry"
	| "listener"
> = {
	"run.started": {
		group: "process",
		severity: "debug",
		line: ({ runId, dataDir }) => `run ${runId} in ${dataDir}`,
		attributes: { ...RUN, "snakepit.path": "dataDir" },
	},
	"run.ended": {
		group: "process",
		severity: ({ clean }) => (clean ? "debug" : "warn"),
		line: ({ runId, clean }) =>
			`run ${runId} has ended${clean ? "" : ", but was not closed"}`,
		attributes: { ...RUN, "snakepit.run.clean": "clean" },
	},
	"cleanup.started": { group: "process", spans: ["cleanup"] },
	"cleanup.finished": {
		group: "process",
		spans: ["cleanup"],
		metrics: ["snakepit.cleanup.duration"],
		severity: ({ found }) => (found > 0 ? "warn" : "debug"),
		line: ({ deadRuns, found, killed, spared, durationMs }) =>
			`cleaned up in ${duration(durationMs)}: ${counted(deadRuns, "dead run")}, ${counted(found, "process", "processes")} found, ${killed} killed, ${spared} spared`,
		attributes: {
			...RUN,
			"snakepit.duration": "durationMs",
			"snakepit.cleanup.dead_runs": "deadRuns",
			"snakepit.cleanup.found": "found",
			"snakepit.cleanup.killed": "killed",
			"snakepit.cleanup.spared": "spared",
		},
	},
	"orphan.reaped": {
		group: "process",
		spans: ["cleanup"],
		counts: {
			"snakepit.orphan.found": {},
			"snakepit.orphan.killed": { "snakepit.found_by": "foundBy" },
		},
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, ofRun, how }) => `orphan ${pid} of run ${ofRun}: ${how}`,
		attributes: {
			"process.pid": "pid",
			"snakepit.run.of": "ofRun",
			"snakepit.orphan.end": "how",
			"snakepit.found_by": "foundBy",
		},
	},
	"orphan.spared": {
		group: "process",
		spans: ["cleanup"],
		counts: { "snakepit.orphan.found": {} },
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, ofRun, reason }) =>
			`pid ${pid} of run ${ofRun} was left alone: ${reason}`,
		attributes: {
			"process.pid": "pid",
			"snakepit.run.of": "ofRun",
			"snakepit.reason": "reason",
		},
	},
	"run.spared": {
		group: "process",
		severity: ({ reason }) => (reason === "owner_alive" ? "debug" : "info"),
		line: ({ ofRun, reason }) => `run ${ofRun} was left alone: ${reason}`,
		attributes: {
			"snakepit.run.of": "ofRun",
			"snakepit.reason": "reason",
		},
	},
	"run.directory_lost": {
		group: "process",
		severity: ({ reason }) => (reason === undefined ? "warn" : "error"),
		line: ({ directory, path, how, reason }) =>
			`the ${directory} directory of this run is lost (${how}): ${path}${reason === undefined ? "" : `; ${reason}`}`,
		attributes: {
			...RUN,
			"snakepit.path": "path",
			"snakepit.reason": "how",
		},
	},
	"run.directory_renewed": {
		group: "process",
		severity: "info",
		line: ({ directory, path }) =>
			`the ${directory} directory of this run was created again: ${path}`,
		attributes: { ...RUN, "snakepit.path": "path" },
	},
	"run.located": {
		group: "process",
		severity: "info",
		line: ({ ofRun, place, owner }) =>
			`the node of run ${ofRun} is ${place.name} (${place.address}), its owner is ${owner}`,
		attributes: {
			"snakepit.run.of": "ofRun",
			"snakepit.reason": "owner",
		},
	},
	"pool.started": {
		group: "process",
		spans: ["pool start"],
		severity: "info",
		line: ({ pool, workers, durationMs }) =>
			`pool ${pool} has ${counted(workers, "worker")} after ${duration(durationMs)}`,
		attributes: {
			...POOL,
			"snakepit.adapter": "adapter",
			"snakepit.pool.workers": "workers",
			"snakepit.duration": "durationMs",
		},
	},
	"pool.start_failed": {
		group: "process",
		spans: ["pool start"],
		severity: "error",
		line: ({ pool, error }) =>
			`pool ${pool} could not be started: ${error.message}`,
		attributes: {
			...POOL,
			"snakepit.adapter": "adapter",
			"error.type": ({ error }) => codeOf(error),
			"exception.message": ({ error }) => error.message,
		},
	},
	...CONTROL_EVENTS,
	"pool.closing": { group: "process", spans: ["pool close"] },
	"pool.closed": {
		group: "process",
		spans: ["pool close"],
		severity: ({ cutShort }) => (cutShort > 0 ? "warn" : "info"),
		line: ({ pool, durationMs, cutShort }) =>
			`pool ${pool} is closed after ${duration(durationMs)}, ${counted(cutShort, "call")} cut short`,
		attributes: {
			...POOL,
			"snakepit.duration": "durationMs",
			"snakepit.pool.cut_short": "cutShort",
		},
	},
	"pool.restart_budget_spent": {
		group: "process",
		severity: "error",
		line: ({ pool, restarts, windowMs }) =>
			`pool ${pool} spent its restart budget: ${counted(restarts, "restart")} within ${duration(windowMs)}`,
		attributes: {
			...POOL,
			"snakepit.count": "restarts",
			"snakepit.duration": "windowMs",
		},
	},
	"pool.adapter_noted": {
		group: "process",
		severity: "debug",
		line: ({ note }) => note,
		attributes: {
			...POOL,
			"snakepit.adapter": "adapter",
			"snakepit.reason": "note",
		},
	},
	"preload.started": {
		group: "process",
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ pool, pid }) =>
			`the preloaded parent of ${pool} is ready, pid ${pid}`,
		attributes: {
			...POOL,
			"process.pid": "pid",
			"snakepit.duration": "durationMs",
		},
	},
	"preload.ended": {
		group: "process",
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ pool, pid, how }) =>
			`the preloaded parent of ${pool}, pid ${pid}, has ended: ${how}`,
		attributes: {
			...POOL,
			"process.pid": "pid",
			"snakepit.reason": "how",
		},
	},
	"preload.unavailable": {
		group: "process",
		severity: "warn",
		line: ({ pool, code, reason }) =>
			`workers of ${pool} start without a preloaded parent: ${code}: ${reason}`,
		attributes: { ...POOL, "snakepit.reason": "code" },
	},
	"companion.started": {
		group: "process",
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ pool, pid }) => `the companion of ${pool} is ready, pid ${pid}`,
		attributes: {
			...POOL,
			"process.pid": "pid",
			"snakepit.duration": "durationMs",
		},
	},
	"companion.ended": {
		group: "process",
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ pool, pid, how }) =>
			`the companion of ${pool}, pid ${pid}, has ended: ${how}`,
		attributes: {
			...POOL,
			"process.pid": "pid",
			"snakepit.reason": "how",
		},
	},
	"companion.unavailable": {
		group: "process",
		severity: "error",
		line: ({ pool, code, reason }) =>
			`${pool} has no companion: ${code}: ${reason}`,
		attributes: { ...POOL, "snakepit.reason": "code" },
	},
	"host.signal_received": {
		group: "process",
		severity: "warn",
		line: (event) => `${event.signal}: ${whatFollows(event)}`,
		attributes: {
			"snakepit.signal": "signal",
			"snakepit.forced": "forced",
			"snakepit.signal.answer": "answer",
			"snakepit.duration": "graceMs",
		},
	},
	"host.grace_spent": {
		group: "process",
		severity: "warn",
		line: ({ signal, graceMs, otherListeners }) =>
			`the program has not ended ${duration(graceMs)} after ${signal}, for which it has ${counted(otherListeners, "listener")}: ending the workers and the program`,
		attributes: {
			"snakepit.signal": "signal",
			"snakepit.duration": "graceMs",
			"snakepit.count": "otherListeners",
		},
	},
	"telemetry.misconfigured": {
		group: "telemetry",
		severity: "error",
		line: ({ message, remedy }) => `${message} ${remedy}`,
		attributes: {
			"error.type": "reason",
			"snakepit.reason": "message",
		},
	},
	"listener.threw": {
		group: "telemetry",
		metrics: ["snakepit.telemetry.dropped"],
		severity: "error",
		line: ({ of, error }) => `a listener of ${of} threw: ${String(error)}`,
		attributes: {
			"snakepit.reason": "of",
			"error.type": ({ error }) => codeOf(error),
			"exception.message": ({ error }) => String(error),
		},
	},
};

function whatFollows({
	answer,
	graceMs,
}: EventOf<"host.signal_received">): string {
	switch (answer) {
		case "close":
			return "ending the workers";
		case "kill":
			return "ending the workers at once";
		case "wait":
			return `the program listens to it, and has ${duration(graceMs)} to end by itself`;
		case "ignore":
			return "the program listens to it and decides what happens next";
	}
}
