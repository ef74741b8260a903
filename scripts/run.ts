import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { dirname } from "node:path";

export const root: string = dirname(import.meta.dirname);

/**
 * Ends a script that is given any argument, before it has done anything: a request for help is not one for a whole run.
 *
 * @param name as `package.json` has it.
 * @param does what it does, and what does a part of it.
 */
export function takeNoArguments(name: string, does: string): void {
	if (process.argv.slice(2).every((each) => each === "--")) return;
	console.error(`npx pnpm@12 ${name} takes no arguments. It ${does}.`);
	process.exit(2);
}

/** Runs ruff on all Python of this repository. @returns whether it was content. */
export function ruff(python: string, ...args: readonly string[]): boolean {
	const words = ["-m", "ruff", ...args];
	const config = ["--config", "python/pyproject.toml"];
	const elsewhere = ["apps", "bench", "chaos", "examples", "packages"];
	return (
		run(python, [...words, "python", "scripts"]) === 0 &&
		run(python, [...words, ...config, ...elsewhere]) === 0
	);
}

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
