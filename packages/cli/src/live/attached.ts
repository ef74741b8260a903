import type { ControlClient } from "@snakepit/control";
import type { Command } from "commander";
import { CommandFailed, type Failure } from "../command/command-failed.ts";

/** Which run a command is about, and how it prints. */
export interface LiveOptions {
	readonly run?: string;
	readonly dataDir?: string;
	readonly json?: true;
}

/** Adds the options that every command about a living run has. */
export function aboutRun(command: Command): Command {
	return command
		.option(
			"--run <id>",
			"the run: its id, or the beginning of it; required if there are several",
		)
		.option("--data-dir <path>", "only runs of this data directory")
		.option("--json", "print JSON; one line per item if the command streams");
}

/** Runs a task with a client of the run; an error ends the command with the matching exit status. */
export async function attached(
	{ run, dataDir }: LiveOptions,
	name: string,
	task: (client: ControlClient) => Promise<void>,
): Promise<void> {
	// Commands that need no living run do not load it.
	const { attach, ControlError } = await import("@snakepit/control");
	try {
		using client = await attach({
			...{ run, dataDir },
			by: `snakepit ${name} (pid ${process.pid})`,
		});
		await task(client);
	} catch (error) {
		if (!(error instanceof ControlError)) throw error;
		const { code, message } = error;
		throw new CommandFailed(FAILURES[code] ?? "failed", coded(message, code));
	}
}

/** The code is at the end of the first line: further lines are output of a worker. */
export function coded(message: string, code: string): string {
	const [first, ...more] = message.split("\n");
	return [`${first} (${code})`, ...more].join("\n");
}

/** Extra information for a message: `undefined` if the program does not allow reading. */
export async function ifReadable<T>(
	reading: Promise<T>,
): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		const { code } = error as { readonly code?: string };
		if (code === "SCOPE_NOT_ALLOWED") return undefined;
		throw error;
	}
}

const FAILURES: Readonly<Record<string, Failure>> = {
	SEVERAL_RUNS: "usage",
	INVALID_OPTION: "usage",
	INVALID_ARGUMENTS: "usage",
	NO_SUCH_RUN: "absent",
	NO_SUCH_POOL: "absent",
	WORKER_NOT_FOUND: "absent",
	TOOL_NOT_FOUND: "absent",
	HOST_SILENT: "silent",
	SCOPE_NOT_ALLOWED: "refused",
	WRONG_TOKEN: "refused",
};

/**
 * The pool that a command is about.
 *
 * @param named by the user; may be left out if there is only one pool.
 */
export async function poolOf(
	client: ControlClient,
	named: string | undefined,
): Promise<string> {
	if (named !== undefined) return named;
	const { run } = await client.state();
	const names = run.pools.map(({ pool }) => pool);
	const [only] = names;
	if (only === undefined)
		throw new CommandFailed("absent", `Run ${run.runId} has no pool.`);
	if (names.length > 1)
		throw new CommandFailed(
			"usage",
			`Run ${run.runId} has ${names.length} pools: ${names.join(", ")}. Name one with --pool.`,
		);
	return only;
}

/** The pool that has a worker. */
export async function poolOfWorker(
	client: ControlClient,
	worker: string,
): Promise<string> {
	const { run } = await client.state();
	const all = run.pools.flatMap(({ pool, workers }) =>
		workers.map(({ workerId }) => ({ pool, workerId })),
	);
	const found = all.find(({ workerId }) => workerId === worker);
	if (found !== undefined) return found.pool;
	const there =
		all.length === 0
			? "there is none"
			: `there is ${all.map(({ workerId }) => workerId).join(", ")}`;
	throw new CommandFailed(
		"absent",
		`Run ${run.runId} has no worker ${worker}; ${there}.`,
	);
}
