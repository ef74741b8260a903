import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";

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
