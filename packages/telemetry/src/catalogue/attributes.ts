import { VERSION } from "../gen/version.ts";

/** The instrumentation scope of everything that is exported. */
export interface Scope {
	readonly name: string;
	/** Of this package. */
	readonly version: string;
	/** Of the semantic conventions whose names are used. */
	readonly schemaUrl: string;
}

/** The scope of all spans, metrics and log records. */
export const SCOPE: Scope = {
	name: "@snakepit/telemetry",
	version: VERSION,
	// The first version in which the conventions for RPC are stable.
	schemaUrl: "https://opentelemetry.io/schemas/1.45.0",
};

/** Groups that can be switched off: see `TelemetryOptions`. */
export type Group =
	/** Calls, queue, sessions. */
	| "calls"
	/** Pools, workers, clean-up, ledger. */
	| "process"
	| "heartbeat"
	/** The actions of protections when a host dies. */
	| "watchdog"
	/** Telemetry about itself. */
	| "telemetry";

const GROUPS: Readonly<Record<string, Group>> = {
	attempt: "calls",
	call: "calls",
	heartbeat: "heartbeat",
	listener: "telemetry",
	protection: "watchdog",
	session: "calls",
	telemetry: "telemetry",
};

/** The group of an event or a metric, by the first part of its name. */
export function groupOf(name: string): Group {
	const [first = ""] = name.replace(/^snakepit\./, "").split(".", 1);
	return GROUPS[first] ?? "process";
}

export interface AttributeDefinition {
	readonly type: "text" | "integer" | "number" | "boolean" | "texts";
	/** Includes its unit, and its values if there are few. */
	readonly description: string;
}

const TEXT = {
	"snakepit.pool.name": "The pool.",
	"snakepit.adapter": "The name of its adapter.",
	"snakepit.command":
		"The command or tool. On metrics, `_OTHER` from the 101st on.",
	"snakepit.call.id": "Names the call in events and logs.",
	"snakepit.call.shape": "`unary`, `stream` or `lease`.",
	"snakepit.call.outcome": "`succeeded`, `failed`, `aborted` or `timed_out`.",
	"snakepit.call.ran":
		"Whether the work of a failed call may have begun: `no` or `maybe`.",
	"snakepit.call.args":
		"What `observe.args` of the pool returned of the arguments of a call that failed, as JSON; without that option it is left out.",
	"snakepit.session.id": "The session of the call.",
	"snakepit.session.end.reason": "`closed`, `expired` or `lost`.",
	"snakepit.function": "The function of the host that the tool called.",
	"snakepit.worker.id":
		"`pool-slot`: stable over incarnations, as many as the pool has slots.",
	"snakepit.worker.incarnation": "This one process.",
	"snakepit.worker.replaces": "The incarnation before it.",
	"snakepit.worker.state": "`starting`, `ready`, `draining` or `stopping`.",
	"snakepit.worker.end.reason":
		"`exited`, `start_failed`, `closed`, `recycled`, `restarted`, `hung`, `broken`, `stuck`, `companion_lost`, `parent_lost`, `host_exit`, `reaped`, `host_died` or `vanished`.",
	"snakepit.worker.end.killer":
		"Who sent the signal that ended it: `none`, `stop_ladder`, `application_cleanup`, `reaper`, `lifeline`, `guard`, `preloaded_parent`, `protection`, `out_of_memory` (the kernel says that it killed the worker because memory had run out) or `unknown` (a person, another program, or the kernel where it does not say so).",
	"snakepit.worker.exit.signal": "The signal it died of.",
	"snakepit.worker.stop.step":
		"The rung of the stop ladder, from `leave` to `sweep`.",
	"snakepit.job.id": "This job, and its process in the ledger.",
	"snakepit.job.program": "What the job executes, without its arguments.",
	"snakepit.job.outcome": "`succeeded`, `failed`, `aborted` or `timed_out`.",
	"snakepit.run.id": "This run of the host in the ledger.",
	"snakepit.run.of": "The run that something belonged to.",
	"snakepit.run.end":
		"How the program of a dead run ended: `finished`, `exited`, `crashed`, `signal`, `out_of_memory`, `machine_restarted`, or `unrecorded`: it recorded nothing, as after SIGKILL, a crash in native code or `process.abort()`.",
	"snakepit.run.program": "The name of the program of a run.",
	"snakepit.found_by":
		"How a process was found: `ledger`, `marker`, `group`, `reported` or `descent`.",
	"snakepit.orphan.end": "`ended_on_term` or `killed`.",
	"snakepit.reason": "Why, in a word or a sentence.",
	"snakepit.path": "A file or directory.",
	"snakepit.protection.name": "`watchdog` or `guard`.",
	"snakepit.control.act": "What was asked for from another process.",
	"snakepit.control.target": "The worker or command that the request concerns.",
	"snakepit.control.by": "Who asked for it, as the caller says.",
	"snakepit.signal":
		"The signal that this program got, or with which a protection ended a process.",
	"snakepit.signal.answer":
		"What Snakepit does after the signal: `close` the pools, `kill` them, or keep them open because the program listens itself: `wait` for a grace period, `ignore` for good.",
	"snakepit.log.logger": "The name of the worker's logger.",
	"snakepit.worker.notification":
		"The name that the worker's protocol gives to its notification.",
	"snakepit.link":
		"What a link points to: `previous attempt`, `failed attempt`, `stopped worker`, `caller` or `call`.",
	"snakepit.drop.reason":
		"`attribute_cut`, `command_limit`, `listener_threw`, `tracer_threw`, `meter_threw`, `logger_threw`, `hook_threw` (`onCallSpan` or `redact`), or `export_failed`, of the spans and log records of a minute.",
	"rpc.system.name":
		"`snakepit`, as on the worker's own span: the host is the client of a command, and the server of a back-call.",
	"rpc.method": "The command, or the function of the host.",
	"error.type":
		"The `code` of Snakepit's error; on back-calls the class of what was thrown.",
	"exception.type": "As Python (or the worker's language) names it.",
	"exception.message": "Cut at 4,096 characters.",
	"exception.stacktrace":
		"The worker's own traceback; cut at 16,384 characters.",
} as const;

const INTEGER = {
	"snakepit.call.attempts": "How many attempts there were.",
	"snakepit.attempt": "1 for the first attempt of a call.",
	"snakepit.worker.start.attempt":
		"1 for the first start on a slot after a good one.",
	"snakepit.worker.calls_lost": "Calls that were lost with it.",
	"snakepit.worker.stop.sent": "How many processes it was sent to.",
	"snakepit.pool.workers": "Workers at its start.",
	"snakepit.pool.min": "How many workers it has at least.",
	"snakepit.pool.max": "How many workers it has at most.",
	"snakepit.pool.cut_short":
		"Calls that were outstanding when the drain time was over.",
	"snakepit.heartbeat.missed_in_a_row": "Pings missed in a row.",
	"snakepit.cleanup.dead_runs": "Dead runs that were found.",
	"snakepit.cleanup.found": "Processes that they had left.",
	"snakepit.cleanup.killed": "Those that were ended.",
	"snakepit.cleanup.spared": "Those that were left alone.",
	"snakepit.count": "How many of what the event is about.",
	"snakepit.protection.restarts":
		"How often it was started before in this run.",
	"snakepit.protection.killed": "Processes that it ended.",
	"snakepit.protection.detection_time":
		"From the first sign of the host's death to its proof, in seconds.",
	"process.pid": "The process that it is about.",
	"process.exit.code": "The exit code.",
} as const;

const NUMBER = {
	"snakepit.worker.start.duration":
		"From the reservation to ready, in seconds.",
	"snakepit.worker.uptime": "How long it lived, in seconds.",
	"snakepit.pool.drain_time": "How long calls may still take, in seconds.",
	"snakepit.heartbeat.timeout":
		"How long the host waited for the answer at most, in seconds.",
	"snakepit.heartbeat.silence": "Since its last answer, in seconds.",
	"snakepit.heartbeat.cpu_time":
		"Processor time it used while silent, in seconds.",
	"snakepit.duration": "How long it took, in seconds.",
} as const;

const BOOLEAN = {
	"snakepit.run.clean": "Whether its own program closed it.",
	"snakepit.forced":
		"Whether it was the second signal, which kills immediately.",
} as const;

const TEXTS = {
	"snakepit.worker.tail": "Its last lines of output; cut.",
} as const;

export type AttributeName =
	| keyof typeof TEXT
	| keyof typeof INTEGER
	| keyof typeof NUMBER
	| keyof typeof BOOLEAN
	| keyof typeof TEXTS;

const of = (
	type: AttributeDefinition["type"],
	descriptions: Readonly<Record<string, string>>,
) =>
	Object.entries(descriptions).map(
		([name, description]) => [name, { type, description }] as const,
	);

/** Every attribute, by name. Those without the prefix are OpenTelemetry's own. */
export const ATTRIBUTES: Readonly<Record<AttributeName, AttributeDefinition>> =
	Object.fromEntries(
		[
			...of("text", TEXT),
			...of("integer", INTEGER),
			...of("number", NUMBER),
			...of("boolean", BOOLEAN),
			...of("texts", TEXTS),
		].sort(([a], [b]) => (a < b ? -1 : 1)),
	) as Record<AttributeName, AttributeDefinition>;
