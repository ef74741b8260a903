import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { ViewerPorts } from "../src/viewer-adapter.ts";

/** For a machine that is busy: tests end by events. */
export const DEADLINE_MS = 120_000;

/** What `observes.ts` is given. */
export interface Settings {
	/** The viewer; without one it cannot be compiled. */
	readonly executable?: string;
	/** What the stand-in for the demo does after its exports; or the demo itself. */
	readonly demo?: "ends" | "fails" | "waits" | "ignores signals" | "is real";
	readonly startWithinMs?: number;
	readonly endWithinMs?: number;
	/** The first choices of ports. */
	readonly takenPorts?: readonly ViewerPorts[];
}

type Habit = "none" | "exits at once" | "never listens" | "ignores SIGTERM";

/** A program that observes, and the processes that it has started. */
export class Observation {
	readonly child: ChildProcess;
	/** Exit code or signal, when its output is read. */
	readonly ended: Promise<number | NodeJS.Signals>;
	output = "";
	readonly #pids: string;
	#life: "running" | "ended" = "running";

	/** Starts it; it is gone when the test is finished. */
	constructor(habit: Habit | "not compiled", settings: Settings = {}) {
		const state = newState();
		this.#pids = join(state, "pids");
		writeFileSync(this.#pids, "");
		const executable =
			habit === "not compiled" ? {} : { executable: standInIn(state) };
		const given: Settings = { ...settings, ...executable };
		const program = join(import.meta.dirname, "observes.ts");
		this.child = spawn(
			process.execPath,
			["--conditions=snakepit-source", program, JSON.stringify(given)],
			{
				stdio: ["ignore", "pipe", "pipe"],
				env: {
					...process.env,
					XDG_STATE_HOME: state,
					STAND_IN_PIDS: this.#pids,
					STAND_IN_HABIT: habit,
				},
			},
		);
		for (const stream of [this.child.stdout, this.child.stderr])
			stream?.setEncoding("utf8").on("data", (text: string) => {
				this.output += text;
				this.child.emit("printed");
			});
		this.ended = once(this.child, "close").then(([code, signal]) => {
			this.#life = "ended";
			this.child.emit("printed");
			return signal ?? code;
		});
		onTestFinished(async () => {
			this.child.kill("SIGTERM");
			const timer = setTimeout(() => this.child.kill("SIGKILL"), DEADLINE_MS);
			await this.ended;
			clearTimeout(timer);
		});
	}

	/** Resolves when it has printed something. */
	async prints(
		pattern: RegExp,
		withinMs: number = DEADLINE_MS,
	): Promise<RegExpExecArray> {
		const signal = AbortSignal.timeout(withinMs);
		for (;;) {
			const found = pattern.exec(this.output);
			if (found !== null) return found;
			if (this.#life === "ended" || signal.aborted)
				throw new Error(`It did not print ${pattern}, but:\n${this.output}`);
			await once(this.child, "printed", { signal }).catch(() => {});
		}
	}

	/** The processes that it has started, in order. */
	pids(of: "viewer" | "demo"): readonly number[] {
		return [
			...readFileSync(this.#pids, "utf8").matchAll(
				new RegExp(`^${of} (\\d+)$`, "gm"),
			),
		].map(([, pid]) => Number(pid));
	}

	/** Those of them that are alive. */
	get left(): readonly number[] {
		return [...this.pids("viewer"), ...this.pids("demo")].filter(isAlive);
	}
}

/** Makes an executable file that stands in for the viewer. */
export function standInIn(directory: string): string {
	const path = join(directory, "stand-in-viewer");
	const standIn = join(import.meta.dirname, "stand-in-viewer.ts");
	const script = `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`;
	writeFileSync(path, script, { mode: 0o755 });
	return path;
}

/** A directory for the ledger of one test. */
export function newState(): string {
	const state = mkdtempSync(join(tmpdir(), "snakepit-observe-"));
	onTestFinished(() => rmSync(state, { recursive: true, force: true }));
	return state;
}

/** Looks until it is so: there is no event for the end of a process that is not our child. */
export async function eventually<T>(
	look: () => T | undefined | false,
	otherwise: string,
): Promise<T> {
	const expired = AbortSignal.timeout(DEADLINE_MS);
	for (;;) {
		const seen = look();
		if (seen !== undefined && seen !== false) return seen;
		if (expired.aborted) throw new Error(otherwise);
		await pause(10);
	}
}

export function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
