import { CommandFailed } from "./command-failed.ts";

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
