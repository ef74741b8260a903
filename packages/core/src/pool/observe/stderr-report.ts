import { SnakepitError } from "../../contract/errors.ts";
import type {
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
} from "../../contract/events.ts";
import type { WorkerLogRecord } from "../../contract/launch.ts";
import type { EndReason } from "../../contract/process-registry.ts";
import { withoutLastLines } from "../../contract/text.ts";
import { describeExit } from "../../process/process-end.ts";

/** The beginning of a text shows where it is from, its end what went wrong. */
const MOST_BEFORE = 8_192;
const MOST_AFTER = 24_576;

/** What plain Python shows where nothing is set up. */
const SHOWN_LEVELS: readonly WorkerLogRecord["level"][] = [
	"warning",
	"error",
	"critical",
];
/** Ends that the pool wanted, or reports in the error of a start. */
const NO_CRASHES: readonly EndReason[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
	"start_failed",
	// Said of the companion, the guard or the preloaded parent itself.
	"companion_lost",
	"parent_lost",
];

/** The events that `StderrReport` is made of. */
export const STDERR_TYPES: readonly SnakepitEventType[] = [
	"pool.started",
	"worker.logged",
	"worker.condemned",
	"worker.exited",
	"worker.start_failed",
	"preload.ended",
	"companion.ended",
	"companion.unavailable",
	"protection.ended",
	"protection.unavailable",
	"run.directory_lost",
	"run.directory_renewed",
	"pool.reloaded",
	"pool.reload_failed",
];

const WITHOUT_DIRECTORY: Readonly<
	Record<EventOf<"run.directory_lost">["directory"], string>
> = {
	runtime: "Until then no worker can be started.",
	shared_memory: "Until then large values are sent in messages.",
};

/**
 * What standard error shows of the events of one pool that no listener shows:
 * records of its workers from WARNING on, and ends that were not wanted. Made
 * of every event in its order; writes nothing itself.
 */
export class StderrReport {
	/** Why workers have to go, until they are gone. */
	readonly #verdicts = new Map<string, EventOf<"worker.condemned">>();
	/** Failed starts before that are the error of `createPool`. */
	#phase: "opening" | "open" = "opening";
	/** Where there was none from the beginning, the doctor says it. */
	#hadGuard = false;

	/** The lines for one event, each complete; `undefined` for most. */
	textOf(event: SnakepitEvent): string | undefined {
		switch (event.type) {
			case "pool.started":
				this.#phase = "open";
				return undefined;
			case "worker.logged":
				return recordText(event);
			case "worker.condemned":
				this.#verdicts.set(event.incarnation, event);
				return undefined;
			case "worker.exited":
				return this.#exitText(event);
			case "worker.start_failed":
				return this.#phase === "open" ? startText(event) : undefined;
			case "preload.ended":
				return event.how === "lost"
					? `[snakepit] The preloaded parent of pool ${event.pool} (pid ${event.pid}) ${describeExit(event.exit)}. Its workers end with it; the next worker start creates a new one.`
					: undefined;
			case "companion.ended":
				return event.how === "lost"
					? `[snakepit] The companion of pool ${event.pool} (pid ${event.pid}) ${describeExit(event.exit)}. Its workers end with it, and Snakepit starts a new one.`
					: undefined;
			case "companion.unavailable":
				return bounded(
					`[snakepit] Pool ${event.pool} has no companion: ${withoutLastLines(event.reason)} Calls wait while Snakepit tries again.`,
				);
			case "protection.ended":
				return this.#guardText(event);
			case "protection.unavailable":
				return event.protection === "guard" && this.#hadGuard
					? `[snakepit] The run has no guard now. ${event.reason}`
					: undefined;
			case "run.directory_lost":
				return event.reason === undefined
					? undefined
					: bounded(
							`[snakepit] ${lostDirectory(event)}, and it cannot be created again: ${event.reason} ${WITHOUT_DIRECTORY[event.directory]} Snakepit tries again.`,
						);
			case "run.directory_renewed":
				return `[snakepit] The directory ${event.instead} of this program's run was lost; workers that start now use ${event.path === event.instead ? "a new one in its place" : event.path}.`;
			case "pool.reloaded":
				return `[snakepit] Pool ${event.pool} replaced its workers after ${changedFiles(event.files)} (${Math.round(event.durationMs)} ms).`;
			case "pool.reload_failed":
				return `[snakepit] Pool ${event.pool} keeps its old workers: no new one started after ${changedFiles(event.files)}. Snakepit tries again when you save.`;
			default:
				return undefined;
		}
	}

	#guardText({
		protection,
		how,
		pid,
		loss,
	}: EventOf<"protection.ended">): string | undefined {
		if (protection !== "guard" || how !== "lost") return undefined;
		this.#hadGuard = true;
		return `[snakepit] The guard (pid ${pid}) was lost: ${loss}. Its workers end with it, and Snakepit starts new ones.`;
	}

	#exitText(event: EventOf<"worker.exited">): string | undefined {
		const { incarnation, workerId, pid, exit, callsLost, lifetimeMs } = event;
		const verdict = this.#verdicts.get(incarnation);
		this.#verdicts.delete(incarnation);
		if (!isCrash(event)) return undefined;
		// Its conversation may have broken because it was dying: that is no reason then.
		const decided = verdict?.reason === event.reason;
		const why =
			event.killer === "out_of_memory"
				? " because the kernel killed it: memory had run out"
				: decided
					? ` because ${verdict.message}`
					: "";
		const lost =
			callsLost === 0
				? ""
				: `, while it ran ${callsLost === 1 ? "a call" : `${callsLost} calls`}`;
		const seconds = (lifetimeMs / 1_000).toFixed(1);
		return bounded(
			`[snakepit] Worker ${workerId} (pid ${pid ?? "unknown"}) ${describeExit(exit)}${why}, ${seconds} s after it was ready${lost}.`,
		);
	}
}

/** An end that was not wanted; one in order that cost no call is none. */
function isCrash({
	reason,
	exit,
	callsLost,
}: EventOf<"worker.exited">): boolean {
	if (NO_CRASHES.includes(reason)) return false;
	const inOrder = exit?.kind === "code" && exit.code === 0;
	return reason !== "exited" || !inOrder || callsLost > 0;
}

function startText({
	workerId,
	error,
}: EventOf<"worker.start_failed">): string | undefined {
	if (error instanceof SnakepitError && error.code === "START_WITHDRAWN")
		return undefined;
	// The last lines of the worker were shown when they came.
	const message = withoutLastLines(error.message);
	const worker = `Worker ${workerId} `;
	const sentence = message.startsWith(worker)
		? message
		: `${worker}could not be started: ${message}`;
	return bounded(`[snakepit] ${sentence}`);
}

function changedFiles(files: readonly string[]): string {
	const [first = "", ...others] = files.map((file) =>
		file.slice(file.lastIndexOf("/") + 1),
	);
	const more = others.length === 0 ? "" : ` and ${others.length} more`;
	return `${first}${more} changed`;
}

function recordText({
	workerId,
	record,
}: EventOf<"worker.logged">): string | undefined {
	const { level, logger, message, callId, traceback, handledBy } = record;
	if (handledBy !== undefined || !SHOWN_LEVELS.includes(level))
		return undefined;
	const call = callId === undefined ? "" : ` (call ${callId})`;
	const text = bounded(
		[
			`${level.toUpperCase()} ${logger}${call}: ${message}`,
			traceback?.trimEnd(),
		]
			.filter((part) => part !== undefined && part !== "")
			.join("\n"),
	);
	return text.replaceAll(/^/gm, () => `[${workerId}] `);
}

function bounded(text: string): string {
	const excess = text.length - MOST_BEFORE - MOST_AFTER;
	return excess <= 0
		? text
		: `${text.slice(0, MOST_BEFORE)}\n… ${excess} characters are left out here …\n${text.slice(-MOST_AFTER)}`;
}

function lostDirectory({ path, how }: EventOf<"run.directory_lost">): string {
	const what = {
		removed: "was removed by something else",
		replaced: "was replaced by something else",
		other_user: "belongs to another user",
	};
	return `The directory ${path} of this program's run ${what[how]}`;
}
