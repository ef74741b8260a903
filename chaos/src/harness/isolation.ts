import { execFile } from "node:child_process";
import {
	existsSync,
	mkdtempSync,
	readlinkSync,
	rmdirSync,
	rmSync,
	statfsSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unavailable } from "../../../scripts/ray/namespace.ts";
import type { RoundOutcome } from "../case.ts";
import { SOURCE_CONDITION } from "./host-process.ts";
import type { Stage } from "./stage.ts";

/** Put before a command: gives it a pid namespace of its own, in which everything ends with its first process. */
export const PID_NAMESPACE: readonly string[] = [
	...["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
];
/** Names the pid namespace outside of an enclosed round, where it would take the pids of other programs. */
const OUTER_PID_NAMESPACE = "CHAOS_OUTER_PID_NAMESPACE";
const ENCLOSED = fileURLToPath(
	new URL("../../programs/recycled-pids/round.ts", import.meta.url),
);

/**
 * Put before a command: mounts a file system of its own at a directory. Only the command sees it; others reach it
 * through `/proc/PID/root`. It is gone with the command.
 */
export function onOwnDisk(
	directory: string,
	options: string,
): readonly string[] {
	const script = `mount -t tmpfs -o ${options},mode=700 chaos "$1" && shift && exec "$@"`;
	return ["unshare", "--mount", "sh", "-c", script, "sh", directory];
}

/** Why there can be no private mount here; `undefined` when there can. */
export function mountsUnavailable(): string | undefined {
	return unavailable("private mount", onOwnDisk("/mnt", "size=1m"));
}

/** Why there can be no private pid namespace here; `undefined` when there can. */
export function namespacesUnavailable(): string | undefined {
	return unavailable("private pid namespace", PID_NAMESPACE);
}

/** Fills the disk of a directory, as a process sees it, to the last byte; returns what frees it again. */
export function fillDisk(pid: number, directory: string): () => void {
	const path = join("/proc", String(pid), "root", directory);
	const file = join(path, "ballast");
	for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
		for (;;) {
			try {
				writeFileSync(file, Buffer.alloc(bytes, 1), { flag: "a" });
			} catch {
				break;
			}
			if (statfsSync(path).bavail === 0) break;
		}
	}
	return () => rmSync(file);
}

/** @throws Error when this process is not in a pid namespace that {@link PID_NAMESPACE} made. */
export function assertEnclosed(): void {
	const outer = process.env[OUTER_PID_NAMESPACE];
	if (outer !== undefined && outer !== pidNamespace()) return;
	throw new Error(
		"This program takes pids that others could need, so it runs in a private pid namespace only. Start it with: npx pnpm@12 chaos --only recycled",
	);
}

/**
 * Runs one round in a pid namespace, in a program of its own that prints its outcome. Everything
 * that it starts ends with it.
 *
 * @param pids how many pids are recycled, at least.
 */
export async function enclosedRound(
	stage: Stage,
	name: string,
	pids: number,
): Promise<RoundOutcome> {
	const [command = "", ...args] = [
		...PID_NAMESPACE,
		// Orphans have to be collected by somebody: a shell that waits does it.
		...["sh", "-c", '"$@"; exit $?', "sh"],
		...[process.execPath, SOURCE_CONDITION, ENCLOSED, name, String(pids)],
	];
	const { stdout } = await promisify(execFile)(command, args, {
		timeout: 120_000,
		// `unshare` ignores SIGTERM while it waits; SIGKILL ends everything inside, too.
		killSignal: "SIGKILL",
		// Files that are left when everything is killed are removed with the stage.
		env: {
			...process.env,
			...stage.env,
			TMPDIR: stage.directory,
			[OUTER_PID_NAMESPACE]: pidNamespace(),
		},
	});
	return JSON.parse(stdout);
}

function pidNamespace(): string {
	return readlinkSync("/proc/self/ns/pid");
}

const GROUPS = "/sys/fs/cgroup/pids";

/** Why the number of processes cannot be limited here; `undefined` when it can. */
export function processLimitUnavailable(): string | undefined {
	try {
		if (!existsSync(join(GROUPS, "cgroup.procs")))
			return "no control group v1 of pids here";
		rmdirSync(mkdtempSync(join(GROUPS, "chaos-")));
		return undefined;
	} catch (error) {
		return `no control group of pids here: ${(error as Error).message}`;
	}
}

/** A limit of processes that the kernel enforces for those that are added, and those they start. */
export class ProcessLimit implements AsyncDisposable {
	readonly #path: string = mkdtempSync(join(GROUPS, "chaos-"));

	add(pid: number): void {
		writeFileSync(join(this.#path, "cgroup.procs"), String(pid));
	}

	limit(processes: number | "max"): void {
		writeFileSync(join(this.#path, "pids.max"), String(processes));
	}

	/** Resolves when it is removed, which is possible when its processes are gone. */
	async [Symbol.asyncDispose](): Promise<void> {
		for (let tries = 0; ; tries++) {
			try {
				rmdirSync(this.#path);
				return;
			} catch (error) {
				if (tries === 1_000) throw error;
				await sleep(5);
			}
		}
	}
}
