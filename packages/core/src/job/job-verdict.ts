import { JobError, type SnakepitError } from "../contract/errors.ts";
import type { CallOutcome } from "../contract/events.ts";
import type { ProcessExit } from "../contract/identity.ts";
import { describeExit } from "../process/process-end.ts";

/** Why a job is ended before its end. */
export type JobStop =
	/** By the signal of its caller. */
	| { readonly kind: "aborted"; readonly reason: unknown }
	/** Its output was left, or it was disposed of. */
	| { readonly kind: "abandoned" }
	| { readonly kind: "timed_out"; readonly timeoutMs: number }
	| { readonly kind: "input_failed"; readonly error: unknown }
	| {
			readonly kind: "output_too_large";
			readonly what: "output" | "line";
			readonly maxBytes: number;
	  }
	| { readonly kind: "run_closed" }
	/** There is no process, or the program could not be executed. */
	| { readonly kind: "not_started"; readonly error: SnakepitError };

/** A job at its end. */
export interface JobEnd {
	/** For people: `Job oyr74la-3 (ffmpeg, pid 123)`. */
	readonly name: string;
	/** `undefined` when it never had a process. */
	readonly pid: number | undefined;
	/** `undefined` when it never had one, or its process was sent SIGKILL and cannot die. */
	readonly exit: ProcessExit | undefined;
	/** `undefined` when it ended by itself. */
	readonly stop: JobStop | undefined;
	/** What the kernel says of a kill for lack of memory. */
	readonly evidence?: string | undefined;
	readonly okCodes: readonly number[];
	readonly ranMs: number;
	readonly stderrTail: readonly string[];
	/** The same as a paragraph. */
	readonly tailParagraph: string;
}

/** How a job ended for its caller, with the error where it did not succeed. */
export interface JobVerdict {
	readonly outcome: CallOutcome;
	readonly error: SnakepitError | undefined;
}

/** Decides how a job ended: a stop that was decided before its process ended counts, whatever its exit. */
export function verdictOf(end: JobEnd): JobVerdict {
	const { stop, exit, okCodes } = end;
	if (stop?.kind === "not_started")
		return { outcome: "failed", error: stop.error };
	if (stop !== undefined)
		return { outcome: outcomeOf(stop), error: stopped(end, stop) };
	if (exit?.kind === "code" && okCodes.includes(exit.code))
		return { outcome: "succeeded", error: undefined };
	const codes = okCodes.join(", ");
	const remedy =
		exit?.kind === "code"
			? `Its okCodes are [${codes}]: add ${exit.code} if this exit code is not an error.`
			: end.evidence === undefined
				? "Snakepit did not send that signal."
				: `The kernel sent it, because memory had run out (${end.evidence}).`;
	const message = `${end.name} ${describeExit(exit)} after ${ms(end)}. ${remedy}`;
	return { outcome: "failed", error: jobError("JOB_FAILED", end, message) };
}

function outcomeOf({ kind }: JobStop): CallOutcome {
	if (kind === "timed_out") return "timed_out";
	return kind === "aborted" || kind === "abandoned" ? "aborted" : "failed";
}

function stopped(
	end: JobEnd,
	stop: Exclude<JobStop, { kind: "not_started" }>,
): JobError {
	const { name } = end;
	const ended =
		end.pid === undefined
			? "It was never started."
			: `Its process ${describeExit(end.exit)} after ${ms(end)}.`;
	switch (stop.kind) {
		case "aborted":
			return jobError(
				"JOB_ABORTED",
				end,
				`${name} was stopped because its caller aborted it. ${ended}`,
				stop.reason,
			);
		case "abandoned":
			return jobError(
				"JOB_ABORTED",
				end,
				`${name} was stopped because its caller stopped reading its output, or disposed of it. ${ended}`,
			);
		case "timed_out":
			return jobError(
				"JOB_TIMEOUT",
				end,
				`${name} ran for longer than ${stop.timeoutMs} ms. ${ended} If it needs longer, raise timeoutMs.`,
			);
		case "input_failed":
			return jobError(
				"JOB_INPUT_FAILED",
				end,
				`The input of ${name} failed: ${stop.error instanceof Error ? stop.error.message : String(stop.error)} ${ended}`,
				stop.error,
			);
		case "output_too_large":
			return jobError(
				"JOB_OUTPUT_TOO_LARGE",
				end,
				stop.what === "line"
					? `${name} printed a line of more than ${stop.maxBytes} bytes. ${ended} Raise maxLineBytes, or read chunks: for await (const chunk of job).`
					: `${name} printed more than ${stop.maxBytes} bytes. ${ended} Raise maxBytes, or read chunks: for await (const chunk of job).`,
			);
		case "run_closed":
			return jobError(
				"JOB_RUN_CLOSED",
				end,
				`${name} did not end before its run was closed. ${ended} Await jobs before run.close(), or give it a longer drainMs.`,
			);
	}
}

function jobError(
	code: JobError["code"],
	{ pid, exit, stderrTail, tailParagraph }: JobEnd,
	message: string,
	cause?: unknown,
): JobError {
	return new JobError({
		...{ code, exit, stderrTail, cause },
		ran: pid === undefined ? "no" : "maybe",
		message: message + tailParagraph,
	});
}

function ms({ ranMs }: JobEnd): string {
	return `${Math.round(ranMs)} ms`;
}
