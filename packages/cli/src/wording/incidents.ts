import type { ControlledEvent } from "@snakepit/control";
import type { EventOf, SnakepitEventType } from "@snakepit/core";
import { counted, duration, timeOfDay, words } from "./figures.ts";

/** How good or bad an incident is; on the page, each tone has a colour. */
export type Tone = "good" | "active" | "quiet" | "warn" | "bad";

/** One event that is shown to people. */
export interface IncidentText {
	/** Its position in the order in which the page received events. */
	readonly number: number;
	readonly wallMs: number;
	readonly type: string;
	readonly tone: Tone;
	/** In words. */
	readonly text: string;
	readonly workerId: string | undefined;
	/** More lines: the last of a worker's output, for example. */
	readonly lines: readonly string[];
}

interface Words {
	readonly tone: Tone;
	readonly text: string;
	readonly lines?: readonly string[];
}

/** The reasons for ends that the pool or program wanted. */
export const IN_ORDER: readonly unknown[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
];

/** The words for each type of event; an event that is not here is no incident. */
const WORDS: {
	readonly [Type in SnakepitEventType]?: (
		event: EventOf<Type>,
	) => Words | undefined;
} = {
	"worker.ready": (e) => good(`${e.workerId} is ready (pid ${e.pid})`),
	"worker.exited": exited,
	"worker.start_failed": (e) => {
		const message = messageOf(e.error);
		// Most messages already are a sentence about the worker.
		return message.startsWith(`Worker ${e.workerId} `)
			? bad(message.slice("Worker ".length))
			: bad(`${e.workerId} could not be started: ${message}`);
	},
	"worker.condemned": (e) => warn(`${e.workerId} must end: ${e.message}`),
	"worker.retiring": (e) => quiet(`${e.workerId} retires: ${e.reason}`),
	"worker.group_spared": (e) =>
		warn(
			`processes in the group of ${e.workerId} are left alone: they may belong to another program`,
		),
	"heartbeat.hung": (e) =>
		bad(`${e.workerId} is hung: silent for ${duration(e.silentMs)}`),
	"heartbeat.busy": (e) =>
		warn(
			`${e.workerId} has not answered for ${duration(e.silentMs)}, but uses the processor`,
		),
	"pool.started": (e) =>
		good(`pool ${e.pool} has started in ${duration(e.durationMs)}`),
	"pool.start_failed": (e) => {
		const [first = "", ...lines] = messageOf(e.error).split("\n");
		const text = `pool ${e.pool} could not be started: ${first}`;
		return { ...bad(text), lines };
	},
	"pool.closing": (e) =>
		quiet(
			`pool ${e.pool} is closed by ${e.by}${e.manner === "forced" ? ", at once" : ""}`,
		),
	"pool.close_hurried": (e) =>
		warn(
			`pool ${e.pool} is closed sooner by ${e.by}: ${e.manner === "forced" ? "at once" : `its calls have ${duration(e.drainMs)}`}`,
		),
	"pool.recycle_requested": (e) =>
		quiet(
			`${e.target === "all" ? `all workers of pool ${e.pool} are` : `${e.target} is`} recycled by ${e.by}${e.manner === "forced" ? ", forced" : ""}`,
		),
	"pool.restart_requested": (e) =>
		quiet(`${e.workerId} is restarted by ${e.by}`),
	"pool.closed": (e) => quiet(`pool ${e.pool} is closed`),
	"pool.paused": (e) => warn(`pool ${e.pool} is paused by ${e.by}`),
	"pool.resumed": (e) => good(`pool ${e.pool} is resumed by ${e.by}`),
	"pool.resized": (e) =>
		quiet(`pool ${e.pool} is resized to ${e.min}–${e.max} workers by ${e.by}`),
	"pool.restart_budget_spent": (e) =>
		bad(
			`pool ${e.pool} has used up its restart budget: ${counted(e.restarts, "restart")} in ${duration(e.windowMs)}`,
		),
	"pool.adapter_noted": (e) => quiet(`pool ${e.pool}: ${e.note}`),
	"preload.ended": (e) =>
		e.how === "lost"
			? bad(
					`the preloaded parent of pool ${e.pool} is lost, and its workers with it`,
				)
			: undefined,
	"preload.unavailable": (e) =>
		warn(`workers of ${e.pool} start without a preloaded parent: ${e.reason}`),
	"companion.ended": (e) =>
		e.how === "lost"
			? bad(`the companion of pool ${e.pool} is lost, and its workers with it`)
			: undefined,
	"companion.unavailable": (e) =>
		bad(`pool ${e.pool} has no companion: ${e.reason}`),
	"orphan.reaped": (e) => warn(`orphan ended: pid ${e.pid} of run ${e.ofRun}`),
	"orphan.spared": (e) =>
		warn(`process left alone: pid ${e.pid} of run ${e.ofRun}, ${e.reason}`),
	"run.spared": (e) => warn(`run ${e.ofRun} left alone: ${e.reason}`),
	"run.located": (e) =>
		quiet(`run ${e.ofRun} of another machine: its owner is ${e.owner}`),
	"audit.stray_found": (e) => warn(`stray found: ${e.name}, pid ${e.pid}`),
	"audit.stray_killed": (e) => warn(`stray ended: pid ${e.pid}`),
	"audit.stray_spared": (e) =>
		bad(`stray could not be ended: pid ${e.pid}, ${e.reason}`),
	"audit.failed": (e) => bad(`audit failed: ${e.reason}`),
	"registry.degraded": (e) => bad(`the ledger cannot be written: ${e.message}`),
	"registry.recovered": () => good("the ledger can be written again"),
	"registry.file_lost": (e) => bad(`the ${e.file} file is ${e.how}: ${e.path}`),
	"run.directory_lost": (e) =>
		(e.reason === undefined ? warn : bad)(
			`the ${e.directory} directory is lost (${e.how}): ${e.path}`,
		),
	"registry.set_aside": (e) =>
		warn(`a ledger cannot be read and is set aside: ${e.path}`),
	"protection.unavailable": (e) =>
		bad(`protection ${e.protection} cannot work: ${e.reason}`),
	"protection.ended": (e) =>
		e.how === "lost"
			? bad(
					`protection ${e.protection} is lost${e.loss === undefined ? "" : `: ${e.loss}`}`,
				)
			: undefined,
	"protection.host_death_detected": (e) =>
		bad(`protection ${e.protection} noticed the death of the program`),
	"protection.process_killed": (e) =>
		warn(
			`protection ${e.protection} ended pid ${e.pid}, found by ${words(e.foundBy)}`,
		),
	"protection.run_settled": (e) =>
		quiet(
			`protection ${e.protection} recorded the end: ${counted(e.killed, "process", "processes")} ended in ${duration(e.durationMs)}`,
		),
	"control.requested": (e) =>
		quiet(`${e.by} asks for ${e.act}${ofTarget(e)} on pool ${e.pool}`),
	"host.signal_received": (e) => warn(`the program got ${e.signal}`),
	"host.stood_still": (e) => warn(standstill(e)),
	"listener.threw": (e) =>
		bad(`the program's own code failed (${e.of}): ${messageOf(e.error)}`),
};

/** The incident that an event is for people; `undefined` if it is none. */
export function incidentOf(
	event: ControlledEvent,
	number: number,
): IncidentText | undefined {
	const { wallMs, type } = event;
	// It is no event: nothing listens before the run is open.
	if (type === "run.open_failed")
		return {
			...bad(`the run could not be opened: ${messageOf(event["error"])}`),
			...{ lines: [], number, wallMs, type, workerId: undefined },
		};
	if (!Object.hasOwn(WORDS, type)) return undefined;
	// The table has the words of the event's own type.
	const wordsOf: ((event: never) => Words | undefined) | undefined =
		WORDS[event.type as SnakepitEventType];
	const words = wordsOf?.(event as never);
	if (words === undefined) return undefined;
	const { workerId } = event as { workerId?: string };
	return { lines: [], ...words, number, wallMs, type, workerId };
}

function exited(event: EventOf<"worker.exited">): Words {
	const { workerId, pid, exit, reason, killer, callsLost, tail } = event;
	const how = endWords(exit, reason, killer);
	const calls = callsLost > 0 ? `, ${counted(callsLost, "call")} lost` : "";
	const text = `${workerId} (pid ${pid}) exited${how}${calls}`;
	const isOrdered = IN_ORDER.includes(reason);
	return {
		tone: isOrdered ? "quiet" : "bad",
		text,
		// A program of another version may not send any.
		lines: isOrdered ? [] : (tail ?? []),
	};
}

/** Why Snakepit ends a worker, by the reason of its end. */
const OUR_REASONS: Readonly<Partial<Record<string, string>>> = {
	start_failed: "because it did not become ready",
	closed: "because its pool was closed",
	recycled: "to recycle it",
	restarted: "to restart it",
	hung: "because it hung",
	broken: "because its conversation broke",
	stuck: "because a call that was cancelled ran on",
	companion_lost: "because its companion was lost",
	host_exit: "because its program ended",
};

/** How a process ended, why, and what ended it, after "ended" or "exited". @param exit `undefined` if that is unknown. */
export function endWords(
	exit: Exit | undefined,
	reason: string,
	killer: unknown,
): string {
	const how = exitWords(exit);
	if (killer === "stop_ladder" || killer === "application_cleanup") {
		const why = OUR_REASONS[reason];
		return why === undefined
			? `${how}: ${words(reason)}, by Snakepit`
			: `${how}${how === "" ? "" : ","} by Snakepit, ${why}`;
	}
	// The signal, and who sent it, say more than that it exited.
	const isTold = reason === "exited" && exit?.kind === "signal";
	return `${how}${isTold ? "" : `: ${words(reason)}`}${killerWords(killer)}`;
}

/** What ended a process, as the end of a sentence; empty if it ended by itself. */
function killerWords(killer: unknown): string {
	if (killer === "none") return "";
	if (killer === "out_of_memory")
		return ", ended by the kernel because memory had run out";
	if (killer === "unknown") return ", it is not known by whom";
	return killer === "guard" || killer === "preloaded_parent"
		? `, ended by the loss of its ${words(killer)}`
		: `, ended by ${words(killer)}`;
}

type Exit =
	| { readonly kind: "code"; readonly code: number }
	| { readonly kind: "signal"; readonly signal: string };

/** How a process ended; empty if that is unknown. */
export function exitWords(exit: Exit | undefined): string {
	if (exit === undefined || exit === null) return "";
	return exit.kind === "signal"
		? ` by ${exit.signal}`
		: ` with status ${exit.code}`;
}

function standstill({
	kind,
	durationMs,
	sinceWallMs,
	processorMs,
	wallMs,
}: EventOf<"host.stood_still">): string {
	const time = `for ${duration(durationMs)}, from ${timeOfDay(sinceWallMs)} to ${timeOfDay(wallMs)}`;
	switch (kind) {
		case "stopped":
			return `the program was stopped ${time}, by SIGSTOP or Ctrl-Z`;
		case "suspended":
			return `the machine was suspended ${time}`;
		default:
			return `the event loop was blocked ${time}; the program used the processor for ${duration(processorMs)} of that`;
	}
}

function ofTarget({ target }: EventOf<"control.requested">): string {
	return target ? ` of ${target}` : "";
}

function messageOf(error: unknown): string {
	const { message } = (error ?? {}) as { message?: unknown };
	return String(message ?? error);
}

const good = (text: string): Words => ({ tone: "good", text });
const quiet = (text: string): Words => ({ tone: "quiet", text });
const warn = (text: string): Words => ({ tone: "warn", text });
const bad = (text: string): Words => ({ tone: "bad", text });
