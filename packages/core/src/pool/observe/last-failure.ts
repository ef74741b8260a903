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

/** The last failure of a worker of one pool, for people who ask why there are none. */
export class LastFailure {
	#failure: WorkerFailure | null = null;

	constructor(hub: Pick<EventHub, "recordWith">) {
		hub.recordWith(this.#record, ["worker.start_failed", "worker.exited"]);
	}

	get failure(): WorkerFailure | null {
		return this.#failure;
	}

	readonly #record = (event: SnakepitEvent): void => {
		if (event.type === "worker.start_failed") {
			const failure = startFailure(event);
			if (failure !== undefined) this.#failure = failure;
		} else if (
			event.type === "worker.exited" &&
			!NO_FAILURES.includes(event.reason)
		)
			this.#failure = endFailure(event);
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
