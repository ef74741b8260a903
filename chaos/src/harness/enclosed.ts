import { execFile, spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RecycledPath } from "../../programs/recycled-pids/paths.ts";
import type { RoundOutcome } from "./chaos-case.ts";
import type { Stage } from "./stage.ts";

/** What makes a pid namespace of its own, in which everything ends with its first process. */
export const PID_NAMESPACE: readonly string[] = [
	"unshare",
	"--pid",
	"--fork",
	"--kill-child",
	"--mount-proc",
];
/** Names the pid namespace that a round is kept out of: there it would take the pids of others. */
const OUTER_PID_NAMESPACE = "CHAOS_OUTER_PID_NAMESPACE";

/** @throws Error when this process is not in a pid namespace that {@link PID_NAMESPACE} made. */
export function assertEnclosed(): void {
	const outer = process.env[OUTER_PID_NAMESPACE];
	if (outer !== undefined && outer !== pidNamespace()) return;
	throw new Error(
		"This program takes pids that others could need, so it runs in a private pid namespace only. Start it with: npx pnpm@12 chaos --only recycled",
	);
}

function pidNamespace(): string {
	return readlinkSync("/proc/self/ns/pid");
}

const at = (path: string): string =>
	fileURLToPath(new URL(`../../programs/${path}`, import.meta.url));

/** Rounds that are run by a harness inside of a pid namespace. */
export type EnclosedRound = "reuse-a-pid";

/** Why there can be no private pid namespace here; `undefined` when there can. */
export function namespacesUnavailable(): string | undefined {
	const [command = "", ...args] = [...PID_NAMESPACE, "true"];
	const { error, status, stderr } = spawnSync(command, args, {
		encoding: "utf8",
	});
	if (status === 0) return undefined;
	return `no private pid namespace here: ${error?.message ?? stderr.trim()}`;
}

/** Runs a whole round, harness and all, in a pid namespace. */
export function roundInPidNamespace(
	stage: Stage,
	round: EnclosedRound,
): Promise<RoundOutcome> {
	const seed = String(Math.floor(stage.random.fraction() * 2 ** 32));
	return enclosed(stage, at("enclosed-round.ts"), [round, seed]);
}

/** Lets strangers have so many pids of processes that something of ours is about to signal. */
export function recyclePids(
	stage: Stage,
	path: RecycledPath,
	pids: number,
): Promise<RoundOutcome> {
	return enclosed(stage, at("recycled-pids/round.ts"), [path, String(pids)]);
}

/** Runs a program in a pid namespace, which prints what came of it. All that it starts ends with it. */
async function enclosed(
	stage: Stage,
	program: string,
	programArguments: readonly string[],
): Promise<RoundOutcome> {
	const [command = "", ...args] = [
		...PID_NAMESPACE,
		// Somebody has to collect the orphans: a shell that waits does.
		...["sh", "-c", '"$@"; exit $?', "sh"],
		process.execPath,
		"--conditions=snakepit-source",
		program,
		...programArguments,
	];
	const { stdout } = await promisify(execFile)(command, args, {
		timeout: 120_000,
		// `unshare` ignores SIGTERM while it waits; with it everything inside ends.
		killSignal: "SIGKILL",
		// What is left when everything is killed goes with the stage.
		env: {
			...process.env,
			...stage.env,
			TMPDIR: stage.directory,
			[OUTER_PID_NAMESPACE]: pidNamespace(),
		},
	});
	return JSON.parse(stdout);
}
