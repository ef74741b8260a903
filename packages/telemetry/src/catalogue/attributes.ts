export type AttributeName =
	| "snakepit.pool.name"
	| "snakepit.adapter"
	| "snakepit.command"
	| "snakepit.call.id"
	| "snakepit.call.shape"
	| "snakepit.call.outcome"
	| "snakepit.call.attempts"
	| "snakepit.call.ran"
	| "snakepit.session.id"
	| "snakepit.session.end.reason"
	| "snakepit.attempt"
	| "snakepit.function"
	| "snakepit.worker.id"
	| "snakepit.worker.incarnation"
	| "snakepit.worker.replaces"
	| "snakepit.worker.state"
	| "snakepit.worker.start.attempt"
	| "snakepit.worker.start.duration"
	| "snakepit.worker.end.reason"
	| "snakepit.worker.end.killer"
	| "snakepit.worker.exit.signal"
	| "snakepit.worker.uptime"
	| "snakepit.worker.calls_lost"
	| "snakepit.worker.stop.step"
	| "snakepit.worker.stop.sent"
	| "snakepit.worker.tail"
	| "snakepit.pool.workers"
	| "snakepit.pool.drain_time"
	| "snakepit.pool.cut_short"
	| "snakepit.heartbeat.missed_in_a_row"
	| "snakepit.heartbeat.timeout"
	| "snakepit.heartbeat.silence"
	| "snakepit.heartbeat.cpu_time"
	| "snakepit.run.id"
	| "snakepit.run.of"
	| "snakepit.run.clean"
	| "snakepit.cleanup.dead_runs"
	| "snakepit.cleanup.found"
	| "snakepit.cleanup.killed"
	| "snakepit.cleanup.spared"
	| "snakepit.found_by"
	| "snakepit.orphan.end"
	| "snakepit.reason"
	| "snakepit.count"
	| "snakepit.path"
	| "snakepit.protection.name"
	| "snakepit.protection.restarts"
	| "snakepit.protection.killed"
	| "snakepit.duration"
	| "snakepit.signal"
	| "snakepit.forced"
	| "snakepit.signal.answer"
	| "snakepit.log.logger"
	| "snakepit.link"
	| "snakepit.drop.reason"
	| "error.type"
	| "exception.type"
	| "exception.message"
	| "exception.stacktrace"
	| "process.pid"
	| "process.exit.code";

export interface AttributeDefinition {
	readonly type: "text" | "integer" | "number" | "boolean" | "texts";
	/** With its unit, and its values where they are few. */
	readonly description: string;
}

const text = (description: string): AttributeDefinition => ({
	type: "text",
	description,
});
const integer = (description: string): AttributeDefinition => ({
	type: "integer",
	description,
});
const seconds = (description: string): AttributeDefinition => ({
	type: "number",
	description: `${description}, in seconds.`,
});

/** Every attribute. Those without the prefix are OpenTelemetry's own. */
export const ATTRIBUTES: Readonly<Record<AttributeName, AttributeDefinition>> =
	{
		"snakepit.pool.name": text("The pool."),
		"snakepit.adapter": text("The name of its adapter."),
		"snakepit.command": text(
			"The command or tool. On metrics `_OTHER` from the 101st on.",
		),
		"snakepit.call.id": text("Names the call in events and logs."),
		"snakepit.call.shape": text("`unary` or `stream`."),
		"snakepit.call.outcome": text(
			"`succeeded`, `failed`, `aborted` or `timed_out`.",
		),
		"snakepit.call.attempts": integer("How many attempts there were."),
		"snakepit.call.ran": text(
			"Whether the work of a failed call may have begun: `no` or `maybe`.",
		),
		"snakepit.session.id": text("The session of the call."),
		"snakepit.session.end.reason": text("`closed`, `expired` or `lost`."),
		"snakepit.attempt": integer("1 for the first attempt of a call."),
		"snakepit.function": text("The function of the host that the tool called."),
		"snakepit.worker.id": text(
			"`pool-slot`: stable over incarnations, as many as the pool has slots.",
		),
		"snakepit.worker.incarnation": text("This one process."),
		"snakepit.worker.replaces": text("The incarnation before it."),
		"snakepit.worker.state": text(
			"`starting`, `ready`, `draining` or `stopping`.",
		),
		"snakepit.worker.start.attempt": integer(
			"1 for the first start on a slot after a good one.",
		),
		"snakepit.worker.start.duration": seconds("From the reservation to ready"),
		"snakepit.worker.end.reason": text(
			"`exited`, `start_failed`, `closed`, `recycled`, `hung`, `broken`, `stuck`, `host_exit`, `reaped` or `vanished`.",
		),
		"snakepit.worker.end.killer": text(
			"Who sent the signal that ended it: `none`, `stop_ladder`, `application_cleanup`, `reaper`, `protection` or `unknown` (a person, another program, or the kernel).",
		),
		"snakepit.worker.exit.signal": text("The signal it died of."),
		"snakepit.worker.uptime": seconds("How long it lived"),
		"snakepit.worker.calls_lost": integer("Calls that were lost with it."),
		"snakepit.worker.stop.step": text(
			"`leave`, `terminate`, `kill` or `sweep`.",
		),
		"snakepit.worker.stop.sent": integer("How many processes it was sent to."),
		"snakepit.worker.tail": {
			type: "texts",
			description: "Its last lines of output; cut.",
		},
		"snakepit.pool.workers": integer("Workers at its start."),
		"snakepit.pool.drain_time": seconds("How long calls may still take"),
		"snakepit.pool.cut_short": integer(
			"Calls that were outstanding when the drain time was over.",
		),
		"snakepit.heartbeat.missed_in_a_row": integer("Pings missed in a row."),
		"snakepit.heartbeat.timeout": seconds("The answer was waited for at most"),
		"snakepit.heartbeat.silence": seconds("Since its last answer"),
		"snakepit.heartbeat.cpu_time": seconds(
			"Processor time it used while silent",
		),
		"snakepit.run.id": text("This run of the host in the ledger."),
		"snakepit.run.of": text("The run that something belonged to."),
		"snakepit.run.clean": {
			type: "boolean",
			description: "Whether its own program ended it in order.",
		},
		"snakepit.cleanup.dead_runs": integer("Dead runs that were found."),
		"snakepit.cleanup.found": integer("Processes that they had left."),
		"snakepit.cleanup.killed": integer("Those that were ended."),
		"snakepit.cleanup.spared": integer("Those that were left alone."),
		"snakepit.found_by": text(
			"How a process was found: `ledger`, `marker`, `group`, `told` or `descent`.",
		),
		"snakepit.orphan.end": text("`ended_on_term` or `killed`."),
		"snakepit.reason": text("Why, in a word or a sentence."),
		"snakepit.count": integer("How many of what the event is about."),
		"snakepit.path": text("A file or directory."),
		"snakepit.protection.name": text("`watchdog` or `guard`."),
		"snakepit.protection.restarts": integer(
			"How often it was started before in this run.",
		),
		"snakepit.protection.killed": integer("Processes that it ended."),
		"snakepit.duration": seconds("How long it took"),
		"snakepit.signal": text(
			"The signal that this program got, or with which a protection ended a process.",
		),
		"snakepit.forced": {
			type: "boolean",
			description: "Whether it was the second one.",
		},
		"snakepit.signal.answer": text(
			"What follows the signal: the pools `close`, are ended by `kill`, or stay open because the program listens itself: `wait` for a grace, `ignore` for good.",
		),
		"snakepit.log.logger": text("The name of the worker's logger."),
		"snakepit.link": text(
			"What a link points to: `previous attempt`, `failed attempt`, `stopped worker` or `call`.",
		),
		"snakepit.drop.reason": text(
			"`attribute_cut`, `command_limit`, `listener_threw`, `tracer_threw`, `meter_threw` or `logger_threw`.",
		),
		"error.type": text(
			"The `code` of Snakepit's error; on back-calls the class of what was thrown.",
		),
		"exception.type": text("As Python (or the worker's language) names it."),
		"exception.message": text("Cut at 4,096 characters."),
		"exception.stacktrace": text(
			"The worker's own traceback; cut at 16,384 characters.",
		),
		"process.pid": integer("The process that it is about."),
		"process.exit.code": integer("The exit code."),
	};
