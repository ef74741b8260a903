import { execFile, spawnSync } from "node:child_process";
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

function unavailable(
	what: string,
	[command = "", ...args]: readonly string[],
): string | undefined {
	const { error, status, stderr } = spawnSync(command, [...args, "true"], {
		encoding: "utf8",
	});
	if (status === 0) return undefined;
	return `no ${what} here: ${error?.message ?? stderr.trim()}`;
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

const LIMITS = {
	pids: { file: "pids.max", none: "max" },
	memory: { file: "memory.limit_in_bytes", none: "-1" },
} as const;

type Controller = keyof typeof LIMITS;

/** Why there can be no control group here; `undefined` when there can. */
export function controlGroupsUnavailable(
	controller: Controller,
): string | undefined {
	const root = `/sys/fs/cgroup/${controller}`;
	try {
		if (!existsSync(join(root, "cgroup.procs")))
			return `no control group v1 of ${controller} here`;
		rmdirSync(mkdtempSync(join(root, "chaos-")));
		return undefined;
	} catch (error) {
		return `no control group of ${controller} here: ${(error as Error).message}`;
	}
}

/** A limit that the kernel enforces for the processes that are added, and those they start. */
export class ControlGroup implements AsyncDisposable {
	readonly #controller: Controller;
	readonly #path: string;

	constructor(controller: Controller) {
		this.#controller = controller;
		this.#path = mkdtempSync(`/sys/fs/cgroup/${controller}/chaos-`);
	}

	add(pid: number): void {
		writeFileSync(join(this.#path, "cgroup.procs"), String(pid));
	}

	limit(value: number | "none"): void {
		const { file, none } = LIMITS[this.#controller];
		writeFileSync(
			join(this.#path, file),
			value === "none" ? none : String(value),
		);
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
