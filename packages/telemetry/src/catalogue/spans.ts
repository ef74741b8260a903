import type { AttributeName } from "./attributes.ts";
import type { Group } from "./groups.ts";

export type SpanKindName =
	| "call"
	| "queue"
	| "attempt"
	| "back-call"
	| "pool start"
	| "pool close"
	| "cleanup"
	| "worker start"
	| "worker spawn"
	| "worker launch"
	| "worker connect"
	| "worker stop"
	| "protection settle";

export type SpanEventName =
	| "exception"
	| "cancelled"
	| "retried"
	| "stop step"
	| "orphan reaped"
	| "orphan spared";

export interface SpanDefinition {
	readonly group: Group;
	/** With what varies in braces. */
	readonly name: string;
	readonly kind: "internal" | "client" | "server";
	readonly parent: string;
	readonly links: string;
	readonly description: string;
	readonly attributes: readonly AttributeName[];
	readonly events: readonly SpanEventName[];
}

export interface SpanEventDefinition {
	readonly description: string;
	readonly attributes: readonly AttributeName[];
}

const WORKER = [
	"snakepit.pool.name",
	"snakepit.worker.id",
	"snakepit.worker.incarnation",
] as const;

/** Every span. */
export const SPANS: Readonly<Record<SpanKindName, SpanDefinition>> = {
	call: {
		group: "calls",
		name: "call {command}",
		kind: "internal",
		parent: "the span of the caller, or what its `traceContext` says",
		links: "",
		description:
			"A call, from its acceptance to its settlement. An error of the call is its status, but for one that its caller aborted.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.command",
			"snakepit.call.id",
			"snakepit.call.shape",
			"snakepit.session.id",
			"snakepit.call.outcome",
			"snakepit.call.attempts",
			"snakepit.call.ran",
			"error.type",
		],
		events: ["retried", "exception"],
	},
	queue: {
		group: "calls",
		name: "queue",
		kind: "internal",
		parent: "call",
		links: "",
		description:
			"The wait for a worker; a call for which one had room has none, one that is made again may have several.",
		attributes: ["error.type"],
		events: [],
	},
	attempt: {
		group: "calls",
		name: "attempt",
		kind: "client",
		parent: "call",
		links: "the previous attempt",
		description:
			"The call on one worker, until its slot is free. Its context travels in the call frame: what the worker does is its child. May outlast its call.",
		attributes: [
			...WORKER,
			"snakepit.attempt",
			"process.pid",
			"snakepit.call.ran",
			"error.type",
		],
		events: ["cancelled", "exception"],
	},
	"back-call": {
		group: "calls",
		name: "back-call {function}",
		kind: "server",
		parent:
			"what the tool's frame says, most often the tool's span; else the attempt",
		links: "",
		description: "A function of the host that the tool called.",
		attributes: ["snakepit.function", "error.type"],
		events: ["exception"],
	},
	"pool start": {
		group: "process",
		name: "pool start",
		kind: "internal",
		parent: "the span in which `createPool` was called",
		links: "",
		description: "From `createPool` until the minimum of workers is ready.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.adapter",
			"snakepit.pool.workers",
			"error.type",
		],
		events: ["exception"],
	},
	"pool close": {
		group: "process",
		name: "pool close",
		kind: "internal",
		parent: "the span in which `close` was called",
		links: "",
		description: "From the last call taken until nothing of the pool is left.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.pool.drain_time",
			"snakepit.pool.cut_short",
		],
		events: [],
	},
	cleanup: {
		group: "process",
		name: "cleanup",
		kind: "internal",
		parent: "pool start",
		links: "",
		description: "What dead programs left behind is searched for and ended.",
		attributes: [
			"snakepit.run.id",
			"snakepit.cleanup.dead_runs",
			"snakepit.cleanup.found",
			"snakepit.cleanup.killed",
			"snakepit.cleanup.spared",
		],
		events: ["orphan reaped", "orphan spared"],
	},
	"worker start": {
		group: "process",
		name: "worker start",
		kind: "internal",
		parent: "pool start; later ones begin traces of their own",
		links: "attempts that failed with the worker before it, and its stop",
		description: "From the reservation to ready.",
		attributes: [
			...WORKER,
			"snakepit.worker.start.attempt",
			"snakepit.worker.replaces",
			"process.pid",
			"error.type",
		],
		events: ["exception"],
	},
	"worker spawn": {
		group: "process",
		name: "worker spawn",
		kind: "internal",
		parent: "worker start",
		links: "",
		description: "Reserved in the ledger, lifeline listening, process started.",
		attributes: [],
		events: [],
	},
	"worker launch": {
		group: "process",
		name: "worker launch",
		kind: "internal",
		parent: "worker start",
		links: "",
		description: "From the launch message to the ready line.",
		attributes: [],
		events: [],
	},
	"worker connect": {
		group: "process",
		name: "worker connect",
		kind: "internal",
		parent: "worker start",
		links: "",
		description: "The adapter connects.",
		attributes: [],
		events: [],
	},
	"worker stop": {
		group: "process",
		name: "worker stop",
		kind: "internal",
		parent: "pool close; else it begins a trace of its own",
		links: "attempts that failed with it",
		description:
			"From the decision that a worker goes until its process is gone. A worker that died by itself, unnoticed until then, has none.",
		attributes: [
			...WORKER,
			"process.pid",
			"snakepit.reason",
			"snakepit.worker.end.reason",
			"snakepit.worker.end.killer",
			"process.exit.code",
			"snakepit.worker.exit.signal",
			"snakepit.worker.calls_lost",
			"error.type",
		],
		events: ["stop step"],
	},
	"protection settle": {
		group: "watchdog",
		name: "protection settle",
		kind: "internal",
		parent: "none",
		links: "",
		description:
			"What a protection did after a host had died, with its own times, told by the next start.",
		attributes: [
			"snakepit.protection.name",
			"snakepit.run.of",
			"snakepit.protection.killed",
		],
		events: [],
	},
};

/** Every event on a span. */
export const SPAN_EVENTS: Readonly<Record<SpanEventName, SpanEventDefinition>> =
	{
		exception: {
			description:
				"An error, once: on the attempt that failed, or on the call that never got so far.",
			attributes: [
				"exception.type",
				"exception.message",
				"exception.stacktrace",
			],
		},
		cancelled: {
			description: "Nobody waits for the attempt any more.",
			attributes: ["error.type"],
		},
		retried: {
			description: "An attempt failed and the call is made again.",
			attributes: ["error.type"],
		},
		"stop step": {
			description: "One rung of the stop ladder.",
			attributes: ["snakepit.worker.stop.step", "snakepit.worker.stop.sent"],
		},
		"orphan reaped": {
			description: "A process that a dead run left behind was ended.",
			attributes: [
				"process.pid",
				"snakepit.run.of",
				"snakepit.orphan.end",
				"snakepit.found_by",
			],
		},
		"orphan spared": {
			description: "A process was left alone.",
			attributes: ["process.pid", "snakepit.run.of", "snakepit.reason"],
		},
	};
