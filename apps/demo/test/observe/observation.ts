import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { DemoSetting } from "../../src/observe/demo-run.ts";
import type { ViewerPorts } from "../../src/observe/viewer.ts";
import { newState } from "../new-state.ts";

const program = join(import.meta.dirname, "observes.ts");
const DEADLINE_MS = 20_000;

/** What `observes.ts` is told. */
export interface Settings {
	/** The viewer; none where it cannot be installed. */
	readonly executable?: string;
	/** What the stand-in for the demo does after it told the viewer something; or the demo itself. */
	readonly demo?: "ends" | "fails" | "waits" | "ignores signals" | "is real";
	readonly startWithinMs?: number;
	readonly endWithinMs?: number;
	/** The first choices of where the viewer listens, and the first again when they are used up. */
	readonly ports?: readonly ViewerPorts[];
	readonly ctrlC?: DemoSetting["ctrlC"];
}

type Habit = "exits at once" | "never listens" | "ignores SIGTERM";

/** A program that observes, and what became of those that it started. */
export class Observation {
	readonly child: ChildProcess;
	output = "";
	readonly #pids: string;
	readonly #ended: Promise<number | NodeJS.Signals>;
	#life: "running" | "ended" = "running";
	#hear: () => void = () => {};

	/**
	 * Starts it; it is gone when the test is finished.
	 *
	 * @param habit - A bad habit of the viewer; `"none"` for a good one, `"not installed"` for no viewer.
	 */
	constructor(
		habit: Habit | "none" | "not installed",
		settings: Omit<Settings, "executable"> = {},
	) {
		const state = newState();
		this.#pids = join(state, "pids");
		writeFileSync(this.#pids, "");
		const given: Settings =
			habit === "not installed"
				? settings
				: { ...settings, executable: standInIn(state) };
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
				this.#hear();
			});
		this.#ended = new Promise((resolve) => {
			this.child.once("close", (code, signal) => {
				this.#life = "ended";
				resolve(signal ?? code ?? -1);
				this.#hear();
			});
		});
		onTestFinished(async () => {
			this.child.kill("SIGTERM");
			const timer = setTimeout(() => this.child.kill("SIGKILL"), DEADLINE_MS);
			await this.#ended;
			clearTimeout(timer);
		});
	}

	/** Resolves when it has said something. */
	async says(
		pattern: RegExp,
		withinMs: number = DEADLINE_MS,
	): Promise<RegExpExecArray> {
		const expired = AbortSignal.timeout(withinMs);
		for (;;) {
			const found = pattern.exec(this.output);
			if (found !== null) return found;
			if (expired.aborted || this.#life === "ended")
				throw new Error(`It never said ${pattern}, but:\n${this.output}`);
			await new Promise<void>((resolve) => {
				this.#hear = resolve;
				expired.addEventListener("abort", () => resolve(), { once: true });
			});
		}
	}

	/** Resolves when it has ended and its output is read: exit code or signal. */
	ends(): Promise<number | NodeJS.Signals> {
		return this.#ended;
	}

	/** The processes that it started, in order. */
	pids(of: "viewer" | "demo"): readonly number[] {
		return readFileSync(this.#pids, "utf8")
			.split("\n")
			.map((line) => line.split(" "))
			.filter(([name]) => name === of)
			.map(([, pid]) => Number(pid));
	}

	/** Resolves when there is a viewer. */
	async viewerStarts(): Promise<number> {
		return await eventually(() => this.pids("viewer")[0], "no viewer started");
	}

	/** Whatever it started that is there now. */
	left(): readonly number[] {
		return [...this.pids("viewer"), ...this.pids("demo")].filter(isThere);
	}
}

/** Makes a program that stands in for the viewer, as an executable file. */
export function standInIn(directory: string): string {
	const path = join(directory, "stand-in-viewer");
	const standIn = join(import.meta.dirname, "stand-in-viewer.ts");
	writeFileSync(
		path,
		`#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`,
		{ mode: 0o755 },
	);
	return path;
}

/** Nothing tells of a process that is no child of ours: it is looked at until it is so. */
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

function isThere(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
