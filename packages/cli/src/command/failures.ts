import { existsSync } from "node:fs";

/** Why a command ends, for its exit status. */
export type Failure = "failed" | "usage" | "absent" | "silent" | "refused";

/** The exit status of every command that does not do what it was asked. */
export const EXIT_STATUS: Readonly<Record<Failure, number>> = {
	failed: 1,
	usage: 2,
	/** There is no such run, pool or worker. */
	absent: 3,
	/** The program does not answer. */
	silent: 4,
	/** The program does not allow it. */
	refused: 5,
};

/** Ends a command with a message for people. */
export class CommandFailed extends Error {
	readonly failure: Failure;

	constructor(failure: Failure, message: string) {
		super(message);
		this.failure = failure;
	}
}

/** A failure for programs: one line of JSON. Standard output has what was asked for, or nothing. */
export function jsonFailure(code: Failure, message: string): string {
	return `${JSON.stringify({ error: { code, message: message.trim() } })}\n`;
}

/**
 * Says on standard error that a ledger's directory is missing: a program may not have made it yet; more often, the path has
 * a typing error.
 */
export function noteAbsent(
	dataDir: string | undefined,
	json: boolean | undefined,
): void {
	if (dataDir === undefined || existsSync(dataDir)) return;
	const message = `there is no directory ${dataDir}.`;
	process.stderr.write(
		json === true
			? `${JSON.stringify({ warning: { code: "absent", message } })}\n`
			: `snakepit: ${message}\n`,
	);
}

/** 128 plus the number of SIGPIPE: the signal would end other programs here, but Node ignores it. */
const READER_GONE = 141;

/** Ends a command whose standard output cannot be written any more: without a message if only its reader has ended, such as `head`. */
export function outputFailed({ code, message }: NodeJS.ErrnoException): never {
	if (code === "EPIPE") process.exit(READER_GONE);
	process.stderr.write(`snakepit: ${message}\n`);
	process.exit(1);
}

/** The names of options in the adapter's messages, and the flags that replace them. */
const WORDS: readonly (readonly [words: RegExp, flag: string])[] = [
	[/the adapter's option "python"/g, "--python"],
	[/ \(the adapter's option "tools"\)/g, ""],
	[/(?:the option )?\bdataDir\b/g, "--data-dir"],
	[/start fewer workers \(size\.max\)/g, "start fewer workers (--workers)"],
	...(["Leave", "leave"] as const).map(
		(leave) =>
			[
				new RegExp(
					`${leave} PYTHON(HOME|PATH)( \\([^)]*\\))? out of its environment \\(env: \\{ \\w+: undefined \\}\\)`,
					"g",
				),
				`${leave === "Leave" ? "Unset" : "unset"} PYTHON$1$2`,
			] as const,
	),
	// The command has no flags for these.
	[/ If it needs longer, raise start\.timeoutMs\./g, ""],
	[/ \(start\.maxRestarts\)/g, ""],
	[/; new URL\([^)]*\) is relative to the program/g, ""],
	[/ A module of Python's is \{ module: [^}]*\}\./g, ""],
	[/, or list it in the requirements of a pythonEnvironment\(\)/g, ""],
	[/ \(a pythonEnvironment\(\) does [^)]*\)/g, ""],
];

/** Returns the result of a command. An error of the adapter is reworded with the names of the command's flags. */
export async function inFlags(running: Promise<void>): Promise<void> {
	try {
		await running;
	} catch (error) {
		if (error instanceof CommandFailed || !(error instanceof Error))
			throw error;
		const message = WORDS.reduce(
			(text, [words, flag]) => text.replace(words, flag),
			error.message,
		);
		throw new CommandFailed("failed", message);
	}
}
