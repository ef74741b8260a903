import { type ChildProcess, spawn } from "node:child_process";
import { clearTimeout, setTimeout } from "node:timers";
import { requireToSpawn } from "@snakepit/core/infrastructure";
import { BUILDER_PROGRAM } from "./builder-program.ts";

/** What is to be built. */
export interface BuildOrder {
	readonly directory: string;
	/** Arguments of `pip install`. */
	readonly install: readonly string[];
}

/** How it went. */
export type BuildOutcome =
	/** `made` is false when it existed already. */
	| { readonly kind: "complete"; readonly made: boolean }
	| {
			readonly kind: "failed";
			/** What failed, in a few words. */
			readonly problem: string;
			/** Its output; may be empty. */
			readonly output: string;
	  };

const MAX_OUTPUT_LENGTH = 65_536;

/**
 * Builds a virtual environment with its interpreter, or waits while another program builds it.
 *
 * Kills the builder after `timeoutMs`, or rejects with the signal's reason when that aborts. Rejects with what the
 * system reports when no descriptor is left.
 */
export function build(
	interpreter: string,
	order: BuildOrder,
	timeoutMs: number,
	signal: AbortSignal,
): Promise<BuildOutcome> {
	signal.throwIfAborted();
	return new Promise((resolve, reject) => {
		requireToSpawn(3);
		// Its own group, which the builder ends when its standard input ends.
		const child = spawn(interpreter, ["-I", "-c", BUILDER_PROGRAM], {
			stdio: ["pipe", "pipe", "pipe"],
			detached: true,
		});
		let stdout = "";
		let stderr = "";
		// It may not even run the builder: nothing is left to its own end.
		const giveUp = (): void => {
			if (child.exitCode === null && child.signalCode === null)
				killGroup(child);
			for (const stream of [child.stdin, child.stdout, child.stderr])
				stream.destroy();
			over({
				kind: "failed",
				problem: `not complete within ${timeoutMs} ms (buildTimeoutMs)`,
				output: stderr,
			});
		};
		const timer = setTimeout(giveUp, timeoutMs);
		signal.addEventListener("abort", giveUp);
		const over = (outcome: BuildOutcome): void => {
			clearTimeout(timer);
			signal.removeEventListener("abort", giveUp);
			if (signal.aborted) reject(signal.reason);
			else resolve(outcome);
		};
		child.stdin.on("error", () => {}); // It ended: its exit is handled.
		child.stdin.write(`${JSON.stringify(order)}\n`);
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			stdout = (stdout + text).slice(-MAX_OUTPUT_LENGTH);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			stderr = (stderr + text).slice(-MAX_OUTPUT_LENGTH);
		});
		child.on("error", (error) =>
			over({
				kind: "failed",
				problem: `${interpreter} did not start`,
				output: error.message,
			}),
		);
		// What it left there could hold its output open for ever.
		child.on("exit", () => killGroup(child));
		child.on("close", (code, killedBy) =>
			over(readOutcome(stdout, stderr, killedBy ?? `exit code ${code}`)),
		);
	});
}

/** @param leader runs, or has ended in this turn: later, another program's group could have its number. */
function killGroup({ pid }: ChildProcess): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, "SIGKILL");
	} catch {
		// Nothing is left in it.
	}
}

/** Reads the last line of the builder. */
function readOutcome(
	stdout: string,
	stderr: string,
	ending: string,
): BuildOutcome {
	const line = stdout.trimEnd().split("\n").at(-1) ?? "";
	let said: Record<string, unknown> = {};
	try {
		said = JSON.parse(line) as Record<string, unknown>;
	} catch {
		// It ended before it could report.
	}
	if (typeof said["made"] === "boolean")
		return { kind: "complete", made: said["made"] };
	if (typeof said["failed"] === "string") {
		return {
			kind: "failed",
			problem: `${said["failed"]} … ended with ${String(said["code"])}`,
			output: String(said["output"]),
		};
	}
	return {
		kind: "failed",
		problem: `the builder ended with ${ending}`,
		output: stderr,
	};
}
