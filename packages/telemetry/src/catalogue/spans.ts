import type { AttributeName } from "./attributes.ts";

export interface SpanDefinition {
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

const SPAN_TABLE = {
	call: {
		name: "call {command}",
		parent:
			'the span of the caller, or the one in its `traceContext`; none with `relation: "link"`',
		links: 'the caller, with `relation: "link"`',
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
			"snakepit.call.args",
			"error.type",
		],
		events: ["retried", "exception"],
	},
	queue: {
		parent: "call",
		description:
			"The wait for a worker. A call that did not wait has no such span; a retried call may have several.",
		attributes: ["error.type"],
	},
	attempt: {
		name: "attempt {command}",
		kind: "client",
		parent: "call",
		links: "the previous attempt",
		description:
			"The call on one worker, until its slot is free. Its context travels in the call frame: what the worker does is its child. May outlast its call.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.worker.id",
			"snakepit.worker.incarnation",
			"snakepit.attempt",
			"process.pid",
			"rpc.system.name",
			"rpc.method",
			"snakepit.call.ran",
			"error.type",
		],
		events: ["cancelled", "exception"],
	},
	"back-call": {
		name: "back-call {function}",
		kind: "server",
		parent:
			"the one in the tool's frame, usually the tool's span; else the attempt",
		description: "A function of the host that the tool called.",
		attributes: [
			"snakepit.function",
			"rpc.system.name",
			"rpc.method",
			"error.type",
		],
		events: ["exception"],
	},
	"pool start": {
		parent: "the span in which `createPool` was called",
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
		parent: "the span in which `close` was called",
		description: "From the last call taken until nothing of the pool is left.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.pool.drain_time",
			"snakepit.pool.cut_short",
		],
	},
	job: {
		name: "job {program}",
		parent: "the span in which `run.job` was called",
		description:
			"A job, from its acceptance to its end, with its wait in the queue. Its run has a pool with telemetry, or `traceJobs()`.",
		attributes: [
			"snakepit.job.id",
			"snakepit.job.program",
			"snakepit.job.outcome",
			"process.pid",
			"snakepit.worker.end.killer",
			"process.exit.code",
			"snakepit.worker.exit.signal",
			"error.type",
		],
	},
	cleanup: {
		parent: "pool start",
		description:
			"The search for processes that dead programs left behind, and their end.",
		attributes: [
			"snakepit.run.id",
			"snakepit.cleanup.dead_runs",
			"snakepit.cleanup.found",
			"snakepit.cleanup.killed",
			"snakepit.cleanup.spared",
		],
		events: ["run found dead", "orphan reaped", "orphan spared"],
	},
	"worker start": {
		parent: "pool start; later ones begin traces of their own",
		links: "attempts that failed with the worker before it, and its end",
		description: "From the reservation to ready.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.worker.id",
			"snakepit.worker.incarnation",
			"snakepit.worker.start.attempt",
			"snakepit.worker.replaces",
			"process.pid",
			"error.type",
		],
		events: ["exception"],
	},
	"worker spawn": {
		parent: "worker start",
		description: "Reserved in the ledger, lifeline listening, process started.",
	},
	"worker launch": {
		parent: "worker start",
		description: "From the launch message to the ready line.",
	},
	"worker connect": {
		parent: "worker start",
		description: "The adapter connects.",
	},
	"worker stop": {
		parent: "pool close; else it starts its own trace",
		links: "attempts that failed with it",
		description:
			"From the decision to stop a worker until its process is gone.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.worker.id",
			"snakepit.worker.incarnation",
			"process.pid",
			"snakepit.reason",
			"snakepit.worker.end.reason",
			"snakepit.worker.end.killer",
			"process.exit.code",
			"snakepit.worker.exit.signal",
			"snakepit.worker.calls_lost",
			"snakepit.worker.tail",
			"error.type",
		],
		events: ["stop step"],
	},
	"worker death": {
		parent: "none",
		links: "attempts that failed with it",
		description:
			"The end of a worker whose stop was not decided, as an error: it crashed, left by itself, or was killed. Takes no time. If the host saw first that its connection was broken, it has a `worker stop`.",
		attributes: [
			"snakepit.pool.name",
			"snakepit.worker.id",
			"snakepit.worker.incarnation",
			"process.pid",
			"snakepit.worker.end.reason",
			"snakepit.worker.end.killer",
			"process.exit.code",
			"snakepit.worker.exit.signal",
			"snakepit.worker.uptime",
			"snakepit.worker.calls_lost",
			"snakepit.worker.tail",
			"error.type",
		],
	},
	"protection settle": {
		parent: "none",
		description:
			"What a protection did after a host had died, with its own times, exported by the next start.",
		attributes: [
			"snakepit.protection.name",
			"snakepit.run.of",
			"snakepit.protection.killed",
		],
	},
} as const;

export type SpanKindName = keyof typeof SPAN_TABLE;

const DEFAULTS = { kind: "internal", links: "", attributes: [], events: [] };

/** Every span. */
export const SPANS: Readonly<Record<SpanKindName, SpanDefinition>> =
	Object.fromEntries(
		Object.entries(SPAN_TABLE).map(([name, span]) => [
			name,
			{ ...DEFAULTS, name, ...span },
		]),
	) as never;

const EVENT_TABLE = {
	exception: {
		description:
			"An error, recorded once: on the attempt that failed, or on the call if no attempt began.",
		attributes: ["exception.type", "exception.message", "exception.stacktrace"],
	},
	cancelled: {
		description: "The caller no longer waits for the attempt.",
		attributes: ["error.type"],
	},
	retried: {
		description: "An attempt failed and the call is retried.",
		attributes: ["error.type"],
	},
	"stop step": {
		description: "One rung of the stop ladder.",
		attributes: ["snakepit.worker.stop.step", "snakepit.worker.stop.sent"],
	},
	"run found dead": {
		description: "A run whose program has died, and how that ended.",
		attributes: [
			"snakepit.run.of",
			"snakepit.run.program",
			"snakepit.run.end",
			"process.exit.code",
			"snakepit.signal",
			"exception.type",
			"exception.message",
		],
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
} as const;

export type SpanEventName = keyof typeof EVENT_TABLE;

/** Every event on a span. */
export const SPAN_EVENTS: Readonly<Record<SpanEventName, SpanEventDefinition>> =
	EVENT_TABLE;
