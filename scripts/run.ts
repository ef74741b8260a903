import { type SpawnSyncOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
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

/** How a command ended that had a deadline. */
type Ending = { readonly status: number } | "killed at the deadline";

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
interface QuietRun {
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
