import type { WorkerFailure } from "@snakepit/control/server";
import type { SnakepitError } from "../../contract/errors.ts";
import type { EventOf, SnakepitEvent } from "../../contract/events.ts";
import type { EndReason } from "../../contract/process-registry.ts";
import { tellingLine } from "../../contract/telling-lines.ts";
import { describeExit } from "../../process/process-end.ts";
import { codeOf } from "../../worker/worker-errors.ts";
import type { EventHub } from "./event-hub.ts";

/** Ends that somebody wanted, and the end of a start, which is reported by itself. */
const NO_FAILURES: readonly EndReason[] = [
	"closed",
	"recycled",
	"restarted",
	"host_exit",
	"start_failed",
];
/** Of the output of a worker. */
const LINES = 20;

/** So many times of failures are kept. */
const TIMES = 20;
/** What follows within this time is part of the same accident, as when all workers end at once. */
const ACCIDENT_MS = 10_000;

/** The last failure of a worker of one pool, for people who ask why there are none, and when earlier ones were. */
export class LastFailure {
	#failure: WorkerFailure | null = null;
	#times: readonly number[] = [];

	constructor(hub: Pick<EventHub, "recordWith">) {
		hub.recordWith(this.#record, ["worker.start_failed", "worker.exited"]);
	}

	get failure(): WorkerFailure | null {
		return this.#failure;
	}

	/** Without those that followed within ten seconds; oldest first. */
	get times(): readonly number[] {
		return this.#times;
	}

	readonly #record = (event: SnakepitEvent): void => {
		const failure =
			event.type === "worker.start_failed"
				? startFailure(event)
				: event.type === "worker.exited" && !NO_FAILURES.includes(event.reason)
					? endFailure(event)
					: undefined;
		if (failure === undefined) return;
		this.#failure = failure;
		const last = this.#times.at(-1) ?? Number.NEGATIVE_INFINITY;
		if (Math.abs(failure.wallMs - last) >= ACCIDENT_MS)
			this.#times = [...this.#times, failure.wallMs].slice(-TIMES);
	};
}

/** `undefined` for a start that was only withdrawn. */
function startFailure({
	wallMs,
	workerId,
	error,
}: EventOf<"worker.start_failed">): WorkerFailure | undefined {
	const { code = "START_FAILED" } = error as Partial<SnakepitError>;
	if (code === "START_WITHDRAWN") return undefined;
	// Its last lines are below the sentence.
	const [sentence = "", ...lines] = error.message.split("\n");
	return { wallMs, workerId, code, ...described(sentence, lines) };
}

function endFailure({
	wallMs,
	workerId,
	pid,
	exit,
	reason,
	tail,
}: EventOf<"worker.exited">): WorkerFailure {
	const why = reason === "exited" ? "" : `: ${reason.replaceAll("_", " ")}`;
	const sentence = `${workerId} (pid ${pid}) ${describeExit(exit)}${why}`;
	const code = codeOf(reason);
	return { wallMs, workerId, code, ...described(sentence, tail) };
}

function described(
	sentence: string,
	lines: readonly string[],
): Pick<WorkerFailure, "cause" | "lines"> {
	const what = sentence.replace(/^Worker /, "").replace(/[.:]$/, "");
	const telling = tellingLine(lines)?.trim() ?? "";
	return {
		cause: what.includes(telling) ? what : `${what}: ${telling}`,
		lines: lines.slice(-LINES),
	};
}
