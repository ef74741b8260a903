import { spawn, spawnSync } from "node:child_process";
import {
	closeSync,
	mkdtempSync,
	openSync,
	readdirSync,
	readSync,
	writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	generateRunId,
	type RunId,
	systemRandom,
} from "@snakepit/core/infrastructure";
import { removeDirectory } from "../../../scripts/remove-directory.ts";
import { look } from "../../src/harness/processes.ts";
import { PYTHON } from "../worker-adapter.ts";

const ANSWER_BYTES = 65_536;

/** A program that answers each line with one, synchronously. */
export class Conversation implements Disposable {
	readonly #orders: number;
	readonly #answers: number;

	/**
	 * @param directory a private one, for two pipes.
	 * @param name what they are named after.
	 * @param command the program and its arguments.
	 */
	constructor(
		directory: string,
		name: string,
		[program = "", ...args]: readonly string[],
	) {
		const orders = pipe(join(directory, `${name}.orders`));
		const answers = pipe(join(directory, `${name}.answers`));
		// Both ways: otherwise opening one waits for the other side.
		this.#orders = openSync(orders, "r+");
		this.#answers = openSync(answers, "r+");
		const child = spawn(program, args, {
			stdio: [this.#orders, this.#answers, "inherit"],
			detached: true,
		});
		child.unref();
	}

	ask<Answer>(order: object): Answer {
		writeSync(this.#orders, `${JSON.stringify(order)}\n`);
		const buffer = Buffer.alloc(ANSWER_BYTES);
		let text = "";
		while (!text.endsWith("\n"))
			text += buffer.toString("utf8", 0, readSync(this.#answers, buffer));
		return JSON.parse(text) as Answer;
	}

	[Symbol.dispose](): void {
		closeSync(this.#orders);
		closeSync(this.#answers);
	}
}

function pipe(path: string): string {
	const { status, stderr } = spawnSync("mkfifo", ["-m", "600", path], {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`mkfifo: ${stderr}`);
	return path;
}

/** A pid is free as soon as its process is reaped; on a busy machine that takes a while. */
const FREE_WITHIN_MS = 20_000;

/** One recycling of some pids; the strangers know how many of them were reused. */
export type Scene = (strangers: Strangers) => Promise<void>;

interface Taken {
	readonly taken: readonly number[];
}

/**
 * Processes with the pids of others that are gone. Every order is carried out in
 * the turn in which it is given: nothing else of this program happens meanwhile.
 */
export class Strangers implements Disposable {
	/** Private, and removed in the end. */
	readonly directory: string = mkdtempSync(join(tmpdir(), "strangers-"));
	/** It starts orphans of this run as a worker of it would have. */
	readonly runId: RunId = generateRunId(Date.now(), systemRandom);
	readonly #program = new Conversation(this.directory, "strangers", [
		PYTHON,
		join(import.meta.dirname, "strangers.py"),
		...["--run-id", this.runId],
	]);
	/** How many pids were taken. */
	recycled = 0;
	/** How many strangers were ended by others. */
	killed = 0;

	/** Takes these pids as soon as they are free. */
	take(pids: readonly number[]): void {
		const deadline = performance.now() + FREE_WITHIN_MS;
		while (pids.some((pid) => look(pid) !== undefined))
			if (performance.now() > deadline)
				throw new Error(`Not all of ${pids.join(", ")} became free.`);
		this.recycled += this.tryToTake(pids);
	}

	/** Tries to take pids that may not be free. Returns how many were. */
	tryToTake(pids: readonly number[]): number {
		return this.#program.ask<Taken>({ take: pids }).taken.length;
	}

	/** Children of the other process, each the leader of a group, which sleep. */
	spawn(
		count: number,
		env: Readonly<Record<string, string>>,
	): readonly number[] {
		const order = { spawn: count, env };
		return this.#program.ask<{ pids: readonly number[] }>(order).pids;
	}

	/** Ends such children, and takes their pids. */
	replace(pids: readonly number[]): void {
		const { taken } = this.#program.ask<Taken>({ replace: pids });
		this.recycled += taken.length;
	}

	/** Counts the strangers that were ended, and ends the others. */
	count(): void {
		const order = { count: true };
		this.killed += this.#program.ask<{ killed: number }>(order).killed;
	}

	[Symbol.dispose](): void {
		this.#program[Symbol.dispose]();
		removeDirectory(this.directory);
	}
}

/** Waits, in this very turn, until these processes are dead with all of their threads. */
export function untilDead(pids: readonly number[]): void {
	const deadline = performance.now() + FREE_WITHIN_MS;
	while (pids.some((pid) => look(pid)?.zombie === false || threads(pid) > 1))
		if (performance.now() > deadline)
			throw new Error(`Not all of ${pids.join(", ")} died.`);
}

function threads(pid: number): number {
	try {
		return readdirSync(`/proc/${pid}/task`).length;
	} catch {
		return 0; // Reaped.
	}
}
