import { spawn } from "node:child_process";
import { clearTimeout, setTimeout } from "node:timers";
import { requireToSpawn, spawnFailed } from "@snakepit/core/infrastructure";

/** How a short program went. */
export type ProgramOutcome =
	/** There is no such program, or it may not be executed. */
	| { readonly kind: "missing"; readonly problem: string }
	| {
			readonly kind: "ended";
			/** `undefined` after a signal. */
			readonly code: number | undefined;
			readonly stdout: string;
			readonly stderr: string;
			/** The problem in a few words; empty if there was none. */
			readonly problem: string;
	  };

export interface ProgramSetting {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
	readonly timeoutMs: number;
	readonly signal: AbortSignal;
}

/** By then, the output of an ended program has been read; only a child can still hold it open, and it may run for ever. */
const OUTPUT_GRACE_MS = 1_000;

/** These say nothing about the program: no other one could be started either. */
const EXHAUSTED: readonly string[] = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"];

/** Longer output is cut: these programs write a few lines. */
const MAX_OUTPUT_LENGTH = 1024 * 1024;

/**
 * Runs a short program to its end, without a shell.
 *
 * Ends it after `timeoutMs`, or rejects with the signal's reason when that aborts. A child that keeps its output open
 * is not waited for.
 *
 * @throws StartError `SPAWN_FAILED` if this program can start no other one: for lack of descriptors, processes or memory.
 */
export async function runProgram(
	executable: string,
	args: readonly string[],
	{ env, cwd, timeoutMs, signal }: ProgramSetting,
): Promise<ProgramOutcome> {
	signal.throwIfAborted();
	requireToSpawn(2);
	const timeout = AbortSignal.timeout(timeoutMs);
	return new Promise((resolve, reject) => {
		const child = spawn(executable, args, {
			cwd,
			env: { ...env },
			stdio: ["ignore", "pipe", "pipe"],
			signal: AbortSignal.any([signal, timeout]),
			killSignal: "SIGKILL",
		});
		let stdout = "";
		let stderr = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			stdout = (stdout + text).slice(0, MAX_OUTPUT_LENGTH);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			stderr = (stderr + text).slice(-MAX_OUTPUT_LENGTH);
		});
		child.on("error", (error: NodeJS.ErrnoException) => {
			if (signal.aborted) reject(signal.reason);
			else if (EXHAUSTED.includes(error.code ?? ""))
				reject(spawnFailed(error, { executable, env, cwd }));
			else if (child.pid === undefined)
				resolve({
					kind: "missing",
					problem: `${executable}: ${error.code ?? error.message}`,
				});
			// Otherwise it was ended by its timeout, and `close` reports that.
		});
		let grace: NodeJS.Timeout | undefined;
		child.on("exit", () => {
			grace = setTimeout(() => {
				child.stdout.destroy();
				child.stderr.destroy();
			}, OUTPUT_GRACE_MS);
		});
		child.on("close", (code, killedBy) => {
			clearTimeout(grace);
			const problem = timeout.aborted
				? `not done within ${timeoutMs} ms`
				: killedBy !== null
					? `ended by ${killedBy}`
					: code !== 0
						? `exit code ${code}${lastLine(stderr)}`
						: "";
			resolve({
				kind: "ended",
				code: code ?? undefined,
				stdout,
				stderr,
				problem,
			});
		});
	});
}

function lastLine(text: string): string {
	const line = text.trimEnd().split("\n").at(-1);
	return line ? `: ${line}` : "";
}
