import { type SpawnSyncOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
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

/** How a command ended that had a deadline. */
export type Ending = { readonly status: number } | "killed at the deadline";

/** Runs a command while this program goes on, showing what it prints. It is killed at the deadline, after `onDeadline`. */
export async function runBeside(
	command: string,
	args: string[],
	env: NodeJS.ProcessEnv,
	deadline: AbortSignal,
	onDeadline: () => void,
): Promise<Ending> {
	const child = spawn(command, args, { cwd: root, env, stdio: "inherit" });
	const end = (): void => {
		onDeadline();
		child.kill("SIGKILL");
	};
	deadline.addEventListener("abort", end, { once: true });
	const [status] = await once(child, "close");
	deadline.removeEventListener("abort", end);
	if (deadline.aborted) return "killed at the deadline";
	return { status: status ?? 1 };
}

/** A command under way whose output is kept. */
export interface QuietRun {
	/** Its exit code. */
	readonly exited: Promise<number>;
	/** What it and the processes that have its output printed, when the last of them has ended. */
	readonly printed: Promise<string>;
}

/** Runs a command while this program goes on, and keeps what it prints. */
export function runQuietly(
	command: string,
	args: string[],
	cwd: string,
	env: NodeJS.ProcessEnv = process.env,
): QuietRun {
	const child = spawn(command, args, {
		cwd,
		env,
		stdio: ["ignore", "pipe", "pipe"],
	});
	let printed = "";
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding("utf8");
		stream.on("data", (text: string) => {
			printed += text;
		});
	}
	return {
		exited: once(child, "exit").then(([status]) => status ?? 1),
		printed: once(child, "close").then(() => printed),
	};
}
