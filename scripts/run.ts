import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { dirname } from "node:path";

/**
 * Ends a script that is given any argument, before it has done anything: it takes
 * none, and a request for help is not one for a whole run.
 *
 * @param name as `package.json` has it.
 * @param does what it does, and what does a part of it.
 */
export function takeNoArguments(name: string, does: string): void {
	const args = process.argv.slice(2).filter((each) => each !== "--");
	if (args.length === 0) return;
	const help = `npx pnpm@12 ${name} takes no arguments. It ${does}.`;
	if (args.every((each) => each === "--help" || each === "-h")) {
		console.log(help);
		process.exit(0);
	}
	console.error(help);
	process.exit(2);
}

export const root: string = dirname(import.meta.dirname);

/** Runs a command, showing what it prints, and returns its exit code. */
export function run(
	command: string,
	args: string[],
	options: SpawnSyncOptions = {},
): number {
	const { error, status } = spawnSync(command, args, {
		cwd: root,
		stdio: "inherit",
		...options,
	});
	if (error !== undefined && "code" in error && error.code === "ETIMEDOUT") {
		console.error(
			`Ended after ${options.timeout} ms: ${command} ${args.join(" ")}`,
		);
		return 1;
	}
	if (error) throw new Error(`${command} did not start`, { cause: error });
	return status ?? 1;
}

/** Runs a command that must succeed. */
export function must(
	command: string,
	args: string[],
	options: SpawnSyncOptions = {},
): void {
	const status = run(command, args, options);
	if (status !== 0)
		throw new Error(`Failed with ${status}: ${command} ${args.join(" ")}`);
}
