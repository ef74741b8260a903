import {
	type EventOf,
	type SnakepitError,
	type SnakepitEvent,
	type SnakepitEventType,
	ToolError,
} from "@snakepit/core";
import { messageOf, type WorkerLogRecord } from "@snakepit/core/adapter";
import { type AttributeName, type Group, groupOf } from "./attributes.ts";
import type { MetricName } from "./metrics.ts";
import type { SpanKindName } from "./spans.ts";

export type Severity = "debug" | "info" | "warn" | "error" | "fatal";

type Exit = EventOf<"worker.exited">["exit"];
type ProgramEnd = EventOf<"run.found_dead">["end"];

/** What an attribute may hold. */
export type Value = string | number | boolean | readonly string[];

/** Reads an attribute of a field's value; `undefined` if it has none. */
type Read = (value: never) => Value | undefined;

/** The attributes that a field becomes: one with the same value, or several that are read from it. */
type FieldAttributes =
	| AttributeName
	| Readonly<Partial<Record<AttributeName, Read>>>;

/**
 * The rule by which a field of an event becomes attributes, for all events that list the field. OpenTelemetry gives
 * durations in seconds: so does a field in milliseconds, `...Ms`.
 */
const FIELDS = {
	act: "snakepit.control.act",
	adapter: "snakepit.adapter",
	answer: "snakepit.signal.answer",
	because: "error.type",
	by: "snakepit.control.by",
	callId: "snakepit.call.id",
	callsLost: "snakepit.worker.calls_lost",
	cause: "snakepit.reason",
	clean: "snakepit.run.clean",
	code: "error.type",
	cpuAdvancedMs: "snakepit.heartbeat.cpu_time",
	cutShort: "snakepit.pool.cut_short",
	dataDir: "snakepit.path",
	deadRuns: "snakepit.cleanup.dead_runs",
	detectionMs: "snakepit.protection.detection_time",
	durationMs: "snakepit.duration",
	end: {
		"snakepit.run.end": (end: ProgramEnd) => end?.how ?? "unrecorded",
		"process.exit.code": (end: ProgramEnd) => end?.code,
		"snakepit.signal": (end: ProgramEnd) => end?.signal?.name,
		"exception.type": (end: ProgramEnd) => end?.error?.name,
		"exception.message": (end: ProgramEnd) =>
			end?.error?.message ?? end?.detail,
	},
	error: {
		"error.type": codeOf,
		"exception.type": (error: unknown) => thrownOf(error).type,
		"exception.message": (error: unknown) => thrownOf(error).message,
		"exception.stacktrace": (error: unknown) => thrownOf(error).stacktrace,
	},
	exit: {
		"process.exit.code": (exit: Exit) =>
			exit?.kind === "code" ? exit.code : undefined,
		"snakepit.worker.exit.signal": (exit: Exit) =>
			exit?.kind === "signal" ? exit.signal : undefined,
	},
	forced: "snakepit.forced",
	found: "snakepit.cleanup.found",
	foundBy: "snakepit.found_by",
	graceMs: "snakepit.duration",
	groupId: "process.pid",
	how: "snakepit.reason",
	incarnation: "snakepit.worker.incarnation",
	jobId: "snakepit.job.id",
	kind: "snakepit.reason",
	killed: "snakepit.cleanup.killed",
	killer: "snakepit.worker.end.killer",
	lifetimeMs: "snakepit.worker.uptime",
	max: "snakepit.pool.max",
	message: "snakepit.reason",
	min: "snakepit.pool.min",
	missedInARow: "snakepit.heartbeat.missed_in_a_row",
	note: "snakepit.reason",
	notification: "snakepit.worker.notification",
	of: "snakepit.reason",
	ofRun: "snakepit.run.of",
	otherListeners: "snakepit.count",
	outcome: "snakepit.job.outcome",
	owner: "snakepit.reason",
	path: "snakepit.path",
	pid: "process.pid",
	pool: "snakepit.pool.name",
	program: "snakepit.job.program",
	protection: "snakepit.protection.name",
	ranMs: "snakepit.duration",
	reason: "snakepit.reason",
	record: {
		"snakepit.log.logger": ({ logger }: WorkerLogRecord) => logger,
		"snakepit.call.id": ({ callId }: WorkerLogRecord) => callId,
		"exception.stacktrace": ({ traceback }: WorkerLogRecord) => traceback,
	},
	restarts: "snakepit.protection.restarts",
	runId: "snakepit.run.id",
	sessionId: "snakepit.session.id",
	signal: "snakepit.signal",
	sent: "snakepit.worker.stop.sent",
	silentMs: "snakepit.heartbeat.silence",
	spared: "snakepit.cleanup.spared",
	step: "snakepit.worker.stop.step",
	tail: {
		"snakepit.worker.tail": (tail: readonly string[]) =>
			tail.length === 0 ? undefined : tail,
	},
	target: "snakepit.control.target",
	timeoutMs: "snakepit.heartbeat.timeout",
	unwritten: "snakepit.count",
	vanished: "snakepit.count",
	waitedMs: "snakepit.duration",
	windowMs: "snakepit.duration",
	workerId: "snakepit.worker.id",
	workers: "snakepit.pool.workers",
	written: "snakepit.count",
} as const satisfies Readonly<Record<string, FieldAttributes>>;

type FieldName = keyof typeof FIELDS;

/** What the export of an event is made of. */
interface ExportParts<Event> {
	/** An event with a severity and a line is a log record, named `snakepit.` and its type. */
	readonly severity?: Severity | ((event: Event) => Severity);
	/** The event in one sentence. */
	readonly line?: (event: Event) => string;
	/** Exported as a log record only if this option is on. */
	readonly onlyWith?: "workerLogs";
	readonly spans?: readonly SpanKindName[];
	/** Counters that go up by one. */
	readonly counts?: readonly MetricName[];
	/** Other metrics that are computed from it. */
	readonly metrics?: readonly MetricName[];
	/** Why it is not exported, or not as a log record. */
	readonly note?: string;
}

interface EventRow<Event> extends ExportParts<Event> {
	/** The fields that are exported, by the rule of all events. */
	readonly fields?: readonly Extract<keyof Event, FieldName>[];
	/** Exceptions from the rule: attributes from another field, or from a function. */
	readonly attributes?: Readonly<
		Partial<
			Record<
				AttributeName,
				Extract<keyof Event, string> | ((event: Event) => Value | undefined)
			>
		>
	>;
}

const WORKER = ["pool", "workerId", "incarnation"] as const;

/** The span of a start has its exception; its log record has it only if the user chose log records. */
const FAILED_START = {
	"error.type": ({ error }: { readonly error: unknown }) => codeOf(error),
};

const LOG_SEVERITY = {
	debug: "debug",
	info: "info",
	warning: "warn",
	error: "error",
	critical: "fatal",
} as const satisfies Record<string, Severity>;

/** Ends that somebody wanted. */
export const WANTED: readonly string[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
];

/** Every event of core. If one is missing here, this file does not compile. */
const TABLE: {
	readonly [Type in SnakepitEventType]: EventRow<EventOf<Type>>;
} = {
	"run.started": {
		severity: "debug",
		line: ({ runId, dataDir }) => `run ${runId} in ${dataDir}`,
		fields: ["runId", "dataDir"],
	},
	"run.ended": {
		severity: ({ clean }) => (clean ? "debug" : "warn"),
		line: ({ runId, clean }) =>
			`run ${runId} has ended${clean ? "" : ", but was not closed"}`,
		fields: ["runId", "clean"],
	},
	"cleanup.started": { spans: ["cleanup"] },
	"cleanup.finished": {
		spans: ["cleanup"],
		metrics: ["snakepit.cleanup.duration"],
		severity: ({ found }) => (found > 0 ? "warn" : "debug"),
		line: ({ deadRuns, found, killed, spared, durationMs }) =>
			`cleaned up in ${duration(durationMs)}: ${counted(deadRuns, "dead run")}, ${counted(found, "process", "processes")} found, ${killed} killed, ${spared} spared`,
		fields: ["runId", "durationMs", "deadRuns", "found", "killed", "spared"],
	},
	"run.found_dead": {
		spans: ["cleanup"],
		severity: "warn",
		line: ({ ofRun, program, end }) =>
			`the program of run ${ofRun}${program === undefined ? "" : ` (${program})`} has died: ${endInWords(end)}`,
		fields: ["ofRun", "end"],
		attributes: { "snakepit.run.program": "program" },
	},
	"orphan.reaped": {
		spans: ["cleanup"],
		counts: ["snakepit.orphan.found", "snakepit.orphan.killed"],
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, ofRun, how }) => `orphan ${pid} of run ${ofRun}: ${how}`,
		fields: ["pid", "ofRun", "foundBy"],
		attributes: { "snakepit.orphan.end": "how" },
	},
	"orphan.spared": {
		spans: ["cleanup"],
		counts: ["snakepit.orphan.found"],
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, ofRun, reason }) =>
			`pid ${pid} of run ${ofRun} was left alone: ${reason}`,
		fields: ["pid", "ofRun", "reason"],
	},
	"run.spared": {
		severity: ({ reason }) => (reason === "owner_alive" ? "debug" : "info"),
		line: ({ ofRun, reason }) => `run ${ofRun} was left alone: ${reason}`,
		fields: ["ofRun", "reason"],
	},
	"run.directory_lost": {
		severity: ({ reason }) => (reason === undefined ? "warn" : "error"),
		line: ({ directory, path, how, reason }) =>
			`the ${directory} directory of this run is lost (${how}): ${path}${reason === undefined ? "" : `; ${reason}`}`,
		fields: ["runId", "path", "how"],
	},
	"run.directory_renewed": {
		severity: "info",
		line: ({ directory, path }) =>
			`the ${directory} directory of this run was created again: ${path}`,
		fields: ["runId", "path"],
	},
	"run.located": {
		severity: "info",
		line: ({ ofRun, location, owner }) =>
			`the node of run ${ofRun} is ${location.name} (${location.address}), its owner is ${owner}`,
		fields: ["ofRun", "owner"],
	},
	"pool.started": {
		spans: ["pool start"],
		severity: "info",
		line: ({ pool, workers, durationMs }) =>
			`pool ${pool} has ${counted(workers, "worker")} after ${duration(durationMs)}`,
		fields: ["pool", "adapter", "workers", "durationMs"],
	},
	"pool.start_failed": {
		spans: ["pool start"],
		severity: "error",
		line: ({ pool, error }) =>
			`pool ${pool} could not be started: ${error.message}`,
		fields: ["pool", "adapter"],
		attributes: FAILED_START,
	},
	"pool.closing": { spans: ["pool close"] },
	"pool.closed": {
		spans: ["pool close"],
		severity: ({ cutShort }) => (cutShort > 0 ? "warn" : "info"),
		line: ({ pool, durationMs, cutShort }) =>
			`pool ${pool} is closed after ${duration(durationMs)}, ${counted(cutShort, "call")} cut short`,
		fields: ["pool", "durationMs", "cutShort"],
	},
	"pool.restart_budget_spent": {
		counts: ["snakepit.worker.restart_budget.spent"],
		severity: "error",
		line: ({ pool, restarts, windowMs }) =>
			`pool ${pool} spent its restart budget: ${counted(restarts, "restart")} within ${duration(windowMs)}`,
		fields: ["pool", "windowMs"],
		attributes: { "snakepit.count": "restarts" },
	},
	"pool.adapter_noted": {
		severity: "debug",
		line: ({ note }) => note,
		fields: ["pool", "adapter", "note"],
	},
	"preload.started": {
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ pool, pid }) =>
			`the preloaded parent of ${pool} is ready, pid ${pid}`,
		fields: ["pool", "pid", "durationMs"],
	},
	"preload.ended": {
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ pool, pid, how }) =>
			`the preloaded parent of ${pool}, pid ${pid}, has ended: ${how}`,
		fields: ["pool", "pid", "how"],
	},
	"preload.unavailable": {
		severity: "warn",
		line: ({ pool, code, reason }) =>
			`workers of ${pool} start without a preloaded parent: ${code}: ${reason}`,
		fields: ["pool"],
		attributes: { "snakepit.reason": "code" },
	},
	"companion.started": {
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ pool, pid }) => `the companion of ${pool} is ready, pid ${pid}`,
		fields: ["pool", "pid", "durationMs"],
	},
	"companion.ended": {
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ pool, pid, how }) =>
			`the companion of ${pool}, pid ${pid}, has ended: ${how}`,
		fields: ["pool", "pid", "how"],
	},
	"companion.unavailable": {
		severity: "error",
		line: ({ pool, code, reason }) =>
			`${pool} has no companion: ${code}: ${reason}`,
		fields: ["pool"],
		attributes: { "snakepit.reason": "code" },
	},
	"host.signal_received": {
		severity: "warn",
		line: (event) => `${event.signal}: ${whatFollows(event)}`,
		fields: ["signal", "forced", "answer", "graceMs"],
	},
	"host.grace_spent": {
		severity: "warn",
		line: ({ signal, graceMs, otherListeners }) =>
			`the program has not ended ${duration(graceMs)} after ${signal}, for which it has ${counted(otherListeners, "listener")}: ending the workers and the program`,
		fields: ["signal", "graceMs", "otherListeners"],
	},
	"host.stood_still": {
		counts: ["snakepit.host.standstills"],
		severity: "warn",
		line: (event) => `${stillText(event)} for ${duration(event.durationMs)}`,
		fields: ["kind", "durationMs"],
	},
	"telemetry.misconfigured": {
		severity: "error",
		line: ({ message, remedy }) => `${message} ${remedy}`,
		fields: ["message"],
		attributes: { "error.type": "reason" },
	},
	"listener.threw": {
		metrics: ["snakepit.telemetry.dropped"],
		severity: "error",
		line: ({ of, error }) => `a listener of ${of} threw: ${String(error)}`,
		fields: ["of", "error"],
	},
	"pool.close_hurried": {
		severity: "warn",
		line: ({ pool, by, manner, drainMs }) =>
			`pool ${pool} is closed sooner by ${by}: ${manner === "forced" ? "at once" : `its calls have ${duration(drainMs)}`}`,
		fields: ["pool", "by"],
	},
	"pool.paused": {
		severity: "warn",
		line: ({ pool, by, waiting }) =>
			`pool ${pool} was paused by ${by}, ${counted(waiting, "call")} waiting`,
		fields: ["pool", "by"],
	},
	"pool.resumed": {
		severity: "info",
		line: ({ pool, by }) => `pool ${pool} was resumed by ${by}`,
		fields: ["pool", "by"],
	},
	"pool.resized": {
		severity: "info",
		line: ({ pool, by, min, max, before }) =>
			`pool ${pool} was resized by ${by} from ${before.min}-${before.max} to ${min}-${max} workers`,
		fields: ["pool", "by", "min", "max"],
	},
	"pool.recycle_requested": {
		severity: "info",
		line: ({ pool, by, target, manner }) =>
			`${by} recycles ${target === "all" ? `all workers of pool ${pool}` : target} (${manner})`,
		fields: ["pool", "by"],
		attributes: {
			"snakepit.worker.id": ({ target }) =>
				target === "all" ? undefined : target,
		},
	},
	"pool.restart_requested": {
		severity: "warn",
		line: ({ by, workerId }) => `${by} restarts ${workerId}`,
		fields: ["pool", "by", "workerId"],
	},
	"pool.reloaded": {
		severity: "info",
		line: ({ pool, files, durationMs }) =>
			`pool ${pool} replaced its workers after ${counted(files.length, "file")} changed (${duration(durationMs)})`,
		fields: ["pool", "durationMs"],
	},
	"pool.reload_failed": {
		severity: "warn",
		line: ({ pool, files, error }) =>
			`pool ${pool} keeps its old workers, because no new one started after ${counted(files.length, "file")} changed: ${error.message}`,
		fields: ["pool", "error"],
	},
	"control.requested": {
		severity: "info",
		line: ({ pool, act, target, by }) =>
			`${by} asked for ${act}${target === undefined ? "" : ` ${target}`} of pool ${pool}`,
		fields: ["runId", "pool", "act", "target", "by"],
	},
	"control.unavailable": {
		severity: "warn",
		line: ({ reason }) =>
			`this run cannot be inspected or controlled: ${reason}`,
		fields: ["runId", "reason"],
	},
	"registry.set_aside": {
		severity: "error",
		line: ({ path, reason }) => `${path} was set aside: ${reason}`,
		fields: ["path", "reason"],
	},
	"registry.relocated": {
		severity: "warn",
		line: ({ path, reason }) => `the ledger is in ${path}: ${reason}`,
		fields: ["path", "reason"],
	},
	"registry.degraded": {
		metrics: ["snakepit.registry.unwritten"],
		severity: "error",
		line: ({ message }) => message,
		fields: ["code", "message", "unwritten"],
	},
	"registry.recovered": {
		metrics: ["snakepit.registry.unwritten"],
		severity: "info",
		line: ({ written }) =>
			`the ledger is written again: ${counted(written, "row")}`,
		fields: ["written"],
	},
	"registry.file_lost": {
		severity: "error",
		line: ({ file, path, how }) =>
			`the ${file} of this run was ${how}: ${path}`,
		fields: ["runId", "path", "how"],
	},
	"registry.file_renewed": {
		severity: "info",
		line: ({ file, path }) => `the ${file} of this run was recreated: ${path}`,
		fields: ["runId", "path"],
	},
	"registry.reconciled": {
		severity: "warn",
		line: ({ vanished, strays, unwritten }) =>
			`the ledger did not agree with the process table: ${counted(vanished, "worker")} vanished, ${counted(strays, "stray")}, ${counted(unwritten, "row")} not written`,
		fields: ["runId", "vanished"],
	},
	"audit.stray_found": {
		counts: ["snakepit.orphan.found"],
		metrics: ["snakepit.orphan.last_seen"],
		severity: "warn",
		line: ({ pid, name, of }) =>
			`stray: pid ${pid} (${name}) carries our marker, and its worker is ${of}`,
		fields: ["runId", "pid", "incarnation", "of"],
	},
	"audit.stray_killed": {
		counts: ["snakepit.orphan.killed"],
		severity: "warn",
		line: ({ pid, how }) => `stray ${pid}: ${how}`,
		fields: ["runId", "pid", "incarnation"],
		attributes: {
			"snakepit.orphan.end": "how",
			"snakepit.found_by": () => "marker",
		},
	},
	"audit.stray_spared": {
		severity: "warn",
		line: ({ pid, reason }) => `stray ${pid} was left alone: ${reason}`,
		fields: ["runId", "pid", "incarnation", "reason"],
	},
	"audit.failed": {
		severity: "warn",
		line: ({ reason }) => `the run could not be audited: ${reason}`,
		fields: ["runId", "reason"],
	},
	"worker.starting": {
		spans: ["worker start"],
		counts: ["snakepit.worker.starts"],
		metrics: ["snakepit.worker.restarts"],
		fields: WORKER,
	},
	"worker.spawned": { spans: ["worker spawn"] },
	"worker.ready": {
		spans: ["worker start", "worker launch", "worker connect"],
		metrics: ["snakepit.worker.start.duration"],
		severity: "info",
		line: ({ workerId, pid, durationMs }) =>
			`${workerId} is ready after ${duration(durationMs)}, pid ${pid}`,
		fields: [...WORKER, "pid"],
		attributes: { "snakepit.worker.start.duration": "durationMs" },
	},
	"worker.start_failed": {
		spans: ["worker start"],
		metrics: ["snakepit.worker.start.duration"],
		// A pool that closes withdraws starts that it has begun; that is not an error.
		severity: ({ error }) =>
			codeOf(error) === "START_WITHDRAWN" ? "info" : "error",
		line: ({ workerId, error }) =>
			`${workerId} did not start: ${error.message}`,
		fields: WORKER,
		attributes: FAILED_START,
	},
	"worker.retiring": {
		spans: ["worker stop"],
		severity: "info",
		line: ({ workerId, reason }) =>
			`${workerId} finishes its calls and leaves: ${reason}`,
		fields: [...WORKER, "reason"],
	},
	"worker.condemned": {
		spans: ["worker stop"],
		severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
		line: ({ workerId, message }) => `${workerId} must be stopped: ${message}`,
		fields: [...WORKER, "message"],
		attributes: { "snakepit.worker.end.reason": "reason" },
	},
	"worker.exited": {
		spans: ["worker stop", "worker death"],
		metrics: ["snakepit.worker.exits", "snakepit.worker.stop.duration"],
		severity: ({ reason }) => (WANTED.includes(reason) ? "info" : "warn"),
		line: ({ workerId, pid, exit, reason, lifetimeMs, callsLost }) => {
			const how =
				exit === undefined
					? "exit status unknown"
					: exit.kind === "code"
						? `exit code ${exit.code}`
						: exit.signal;
			return `${workerId} is gone after ${duration(lifetimeMs)}, pid ${pid ?? "unknown"}: ${reason}, ${how}, ${counted(callsLost, "call")} lost`;
		},
		fields: [
			...WORKER,
			"pid",
			"exit",
			"killer",
			"lifetimeMs",
			"callsLost",
			"tail",
		],
		attributes: { "snakepit.worker.end.reason": "reason" },
	},
	"worker.stop_step": { spans: ["worker stop"], fields: ["step", "sent"] },
	"worker.group_spared": {
		severity: "warn",
		line: ({ workerId, groupId, pids }) =>
			`${workerId} may have left ${counted(pids.length, "process")} in group ${groupId}, or they belong to another program; left alone: ${pids.join(", ")}`,
		fields: [...WORKER, "groupId"],
	},
	"worker.output": {
		onlyWith: "workerLogs",
		severity: ({ stream }) => (stream === "stderr" ? "warn" : "info"),
		line: ({ workerId, line }) => `${workerId} | ${line}`,
		fields: [...WORKER, "callId"],
	},
	"worker.logged": {
		onlyWith: "workerLogs",
		severity: ({ record }) => LOG_SEVERITY[record.level],
		line: ({ workerId, record }) =>
			`${workerId} | ${record.logger}: ${record.message}`,
		fields: [...WORKER, "record"],
	},
	"worker.notified": {
		onlyWith: "workerLogs",
		severity: "info",
		line: ({ workerId, notification }) =>
			`${workerId} | notification ${notification}`,
		fields: [...WORKER, "notification"],
	},
	"heartbeat.sent": {
		counts: ["snakepit.heartbeat.sent"],
		note: "Every two seconds from every worker: only counted.",
		fields: ["pool"],
	},
	"heartbeat.answered": {
		counts: ["snakepit.heartbeat.answered"],
		metrics: ["snakepit.heartbeat.duration"],
		note: "Only counted and measured.",
		fields: ["pool"],
	},
	"heartbeat.missed": {
		counts: ["snakepit.heartbeat.missed"],
		severity: "warn",
		line: ({ workerId, missedInARow }) =>
			`${workerId} did not answer a ping, ${missedInARow} in a row`,
		fields: [...WORKER, "missedInARow", "timeoutMs"],
	},
	"heartbeat.busy": {
		severity: "warn",
		line: ({ workerId, silentMs }) =>
			`${workerId} has not answered for ${duration(silentMs)}, but it uses the processor`,
		fields: [...WORKER, "silentMs", "cpuAdvancedMs"],
	},
	"heartbeat.suspended": {
		counts: ["snakepit.heartbeat.suspended"],
		severity: "info",
		line: ({ workerId, reason }) =>
			`the heartbeat of ${workerId} is suspended: ${reason}`,
		fields: [...WORKER, "reason"],
	},
	"heartbeat.hung": {
		severity: "error",
		line: ({ workerId, cause, silentMs, missedInARow }) =>
			`${workerId} is hung (${cause}): silent for ${duration(silentMs)}, ${counted(missedInARow, "ping")} missed in a row`,
		fields: [...WORKER, "cause", "silentMs", "missedInARow"],
	},
	"call.accepted": { spans: ["call", "queue"] },
	"call.dispatched": {
		spans: ["attempt"],
		metrics: ["snakepit.call.wait_time"],
	},
	"call.released": {
		spans: ["attempt"],
		metrics: ["snakepit.attempt.duration"],
	},
	"call.retried": {
		spans: ["call"],
		counts: ["snakepit.call.retries"],
		fields: ["pool", "because"],
	},
	"call.settled": {
		spans: ["call"],
		metrics: [
			"snakepit.call.duration",
			"snakepit.call.settled",
			"snakepit.call.failures",
		],
	},
	"session.started": {
		metrics: ["snakepit.session.count"],
		severity: "debug",
		line: ({ sessionId }) => `session ${sessionId} was opened`,
		fields: ["pool", "sessionId"],
	},
	"session.ended": {
		metrics: ["snakepit.session.count"],
		severity: ({ reason }) => (reason === "lost" ? "warn" : "debug"),
		line: ({ sessionId, reason }) => `session ${sessionId} is over: ${reason}`,
		fields: ["pool", "sessionId"],
		attributes: { "snakepit.session.end.reason": "reason" },
	},
	"job.accepted": {
		spans: ["job"],
		fields: ["jobId", "program"],
	},
	"job.started": {
		spans: ["job"],
		severity: "debug",
		line: ({ jobId, program, pid, waitedMs }) =>
			`job ${jobId} runs ${program}, pid ${pid}, after ${duration(waitedMs)}`,
		fields: ["jobId", "program", "pid", "waitedMs"],
	},
	"job.settled": {
		spans: ["job"],
		severity: ({ outcome }) => (outcome === "succeeded" ? "debug" : "warn"),
		line: ({ jobId, program, outcome, code, ranMs }) =>
			`job ${jobId} (${program}) ${outcome} after ${duration(ranMs)}${code === undefined ? "" : `: ${code}`}`,
		fields: [
			"jobId",
			"program",
			"outcome",
			"code",
			"exit",
			"killer",
			"ranMs",
			"tail",
		],
	},
	"protection.started": {
		severity: ({ restarts }) => (restarts > 0 ? "warn" : "info"),
		line: ({ protection, pid }) => `the ${protection} is running, pid ${pid}`,
		fields: ["protection", "pid", "durationMs", "restarts"],
	},
	"protection.ended": {
		severity: ({ how }) => (how === "lost" ? "error" : "info"),
		line: ({ protection, pid, how, loss }) =>
			`the ${protection}, pid ${pid}, has ended: ${how}${loss === undefined ? "" : `, ${loss}`}`,
		fields: ["protection", "pid", "how", "exit"],
	},
	"protection.unavailable": {
		severity: "warn",
		line: ({ protection, reason }) =>
			`the ${protection} is not available: ${reason}`,
		fields: ["protection", "reason"],
	},
	"protection.host_death_detected": {
		counts: ["snakepit.protection.activations"],
		metrics: ["snakepit.protection.last_activation"],
		severity: "fatal",
		line: ({ protection, ofRun }) =>
			`the ${protection} of run ${ofRun} saw the death of its host`,
		fields: ["protection", "ofRun", "pid", "detectionMs"],
	},
	"protection.process_killed": {
		counts: ["snakepit.protection.kills"],
		severity: "warn",
		line: ({ protection, ofRun, pid }) =>
			`the ${protection} of run ${ofRun} ended pid ${pid} after the death of its host`,
		fields: ["protection", "ofRun", "pid", "incarnation", "foundBy", "signal"],
	},
	"protection.run_settled": {
		spans: ["protection settle"],
		severity: "warn",
		line: ({ protection, ofRun, killed, durationMs }) =>
			`the ${protection} of run ${ofRun} finished ${duration(durationMs)} after the death of its host: ${counted(killed, "process", "processes")} ended`,
		fields: ["protection", "ofRun", "durationMs"],
		attributes: { "snakepit.protection.killed": "killed" },
	},
};

function endInWords(end: ProgramEnd): string {
	switch (end?.how) {
		case undefined:
			return "it recorded nothing, as after SIGKILL or a crash in native code";
		case "finished":
			return "nothing was left to do, but its pools were open";
		case "exited":
			return `process.exit(${end.code ?? ""})${end.at === undefined ? "" : ` in ${end.at}`}`;
		case "crashed":
			return `${end.error?.name ?? "an error"}: ${end.error?.message ?? "that nothing caught"}`;
		case "signal":
			return end.signal?.name ?? "a signal";
		case "out_of_memory":
			return `the kernel ended it, since memory had run out${end.detail === undefined ? "" : `: ${end.detail}`}`;
		case "machine_restarted":
			return "its machine was restarted";
	}
}

function whatFollows({
	answer,
	graceMs,
}: EventOf<"host.signal_received">): string {
	switch (answer) {
		case "close":
			return "ending the workers";
		case "kill":
			return "ending the workers immediately";
		case "wait":
			return `the program listens to it, and has ${duration(graceMs)} to end by itself`;
		case "ignore":
			return "the program listens to it and decides what happens next";
	}
}

function stillText({ kind }: EventOf<"host.stood_still">): string {
	switch (kind) {
		case "stopped":
			return "the program was stopped by a signal";
		case "suspended":
			return "the machine was suspended";
		case "blocked":
			return "the event loop was blocked";
	}
}

/** Reads an attribute of an event; `undefined` if this one has none. */
type ReadAttribute = (event: SnakepitEvent) => Value | undefined;

/** How an event of core is exported. */
export interface EventExport extends ExportParts<SnakepitEvent> {
	readonly group: Group;
	/** Of its log record, spans and counters. */
	readonly attributes: ReadonlyMap<AttributeName, ReadAttribute>;
}

/** How every event of core is exported. */
export const EVENTS: Readonly<Record<SnakepitEventType, EventExport>> =
	Object.fromEntries(
		// A row is only used for events of its own type.
		Object.entries(
			TABLE as unknown as Record<string, EventRow<SnakepitEvent>>,
		).map(([type, row]) => [type, exported(type, row)] as const),
	) as never;

function exported(
	type: string,
	{ fields = [], attributes = {}, ...row }: EventRow<SnakepitEvent>,
): EventExport {
	const exceptions = Object.entries(attributes).map(
		([name, source]): [string, ReadAttribute] => [
			name,
			typeof source === "function" ? source : readerOf(source),
		],
	);
	const all = [...fields.flatMap(readersOf), ...exceptions];
	return {
		...row,
		group: groupOf(type),
		attributes: new Map(all as [AttributeName, ReadAttribute][]),
	};
}

function readersOf(
	field: FieldName,
): readonly (readonly [string, ReadAttribute])[] {
	const attributes: FieldAttributes = FIELDS[field];
	if (typeof attributes === "string") return [[attributes, readerOf(field)]];
	return Object.entries(attributes).map(([name, read]) => [
		name,
		(event) => read(fieldOf(event, field) as never),
	]);
}

function readerOf(field: string): ReadAttribute {
	if (!field.endsWith("Ms")) return (event) => fieldOf(event, field) as Value;
	return (event) => {
		const ms = fieldOf(event, field) as number | undefined;
		return ms === undefined ? undefined : seconds(ms);
	};
}

function fieldOf(event: SnakepitEvent, field: string): unknown {
	return (event as unknown as Record<string, unknown>)[field];
}

/** The attributes of an event that have a value; of these names only, if there are any. */
export function attributesOf(
	event: SnakepitEvent,
	names?: readonly AttributeName[],
): Readonly<Partial<Record<AttributeName, Value>>> {
	const values: Partial<Record<AttributeName, Value>> = {};
	for (const [name, read] of EVENTS[event.type].attributes) {
		if (names !== undefined && !names.includes(name)) continue;
		const value = read(event);
		if (value !== undefined) values[name] = value;
	}
	return values;
}

/** The event in one sentence. */
export function lineOf(event: SnakepitEvent): string {
	return EVENTS[event.type].line?.(event) ?? event.type;
}

/** The name of an event's log record. */
export function eventName(type: SnakepitEventType): string {
	return `snakepit.${type}`;
}

/** The severity of an event's log record; `undefined` if the event is exported as spans or metrics only. */
export function severityOf(event: SnakepitEvent): Severity | undefined {
	const { severity } = EVENTS[event.type];
	return typeof severity === "function" ? severity(event) : severity;
}

/** OpenTelemetry gives durations in seconds. */
export function seconds(ms: number): number {
	return ms / 1_000;
}

/** A duration as a person reads it, with three digits: `4.26 ms`, `1.14 s`, `3600 s`. */
export function duration(ms: number): string {
	return ms < 1_000 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1_000)} s`;
}

function threeDigits(value: number): number {
	return value < 100 ? Number(value.toPrecision(3)) : Math.round(value);
}

/** `1 call`, `2 calls`. */
function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}

/** An exception as its own language names it. */
export interface Thrown {
	readonly type: string;
	readonly message: string;
	readonly stacktrace: string | undefined;
}

/** What was thrown: of an error of a tool, what the tool raised. */
export function thrownOf(error: unknown): Thrown {
	const { name, stack } = (error ?? {}) as Partial<Error>;
	const remote = error instanceof ToolError ? error.remote : undefined;
	const stacktrace = remote?.traceback ?? stack;
	return {
		type: remote?.type || (typeof name === "string" && name) || "Error",
		message: remote?.message ?? messageOf(error),
		stacktrace:
			typeof stacktrace === "string" && stacktrace !== ""
				? stacktrace
				: undefined,
	};
}

/** The stable code of a Snakepit error, or the class of any other error. */
export function codeOf(error: unknown): string {
	const { code, name } = (error ?? {}) as Partial<SnakepitError>;
	if (typeof code === "string") return code;
	return typeof name === "string" ? name : "Error";
}
