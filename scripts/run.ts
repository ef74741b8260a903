import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { dirname } from "node:path";

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
