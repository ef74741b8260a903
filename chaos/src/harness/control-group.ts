import { existsSync, mkdtempSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

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

/** A limit that the kernel keeps for the processes that are put under it, and those they start. */
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

	/** Resolves when it is gone: its processes have to be gone before. */
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
