import { type ChildProcess, spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";

/** A program that a person uses in a terminal: reads what it shows, and types. */
export class Person {
	readonly program: ChildProcess;
	/** How it ended. */
	readonly ended: Promise<number | NodeJS.Signals | null>;
	#shown = "";
	#read = 0;
	#waiting: (() => void)[] = [];

	/** It is killed when the test is finished. */
	constructor(
		command: string,
		args: readonly string[],
		env: NodeJS.ProcessEnv = {},
	) {
		this.program = spawn(command, args, {
			env: { ...process.env, ...env, ...testMark() },
			stdio: ["pipe", "pipe", "inherit"],
		});
		this.ended = new Promise((resolve) =>
			this.program.once("exit", (code, signal) => resolve(code ?? signal)),
		);
		this.program.stdin?.on("error", () => {}); // It has ended.
		this.program.stdout?.setEncoding("utf8").on("data", (text: string) => {
			this.#shown += text;
			for (const look of this.#waiting.splice(0)) look();
		});
		onTestFinished(() => void this.program.kill("SIGKILL"));
	}

	/** Waits until it shows a text, after what was read before; returns what it shows up to there. */
	async reads(text: string): Promise<string> {
		for (;;) {
			const end = this.#shown.indexOf(text, this.#read);
			if (end >= 0) {
				const begin = this.#read;
				this.#read = end + text.length;
				return this.#shown.slice(begin, this.#read);
			}
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
	}

	types(text: string): void {
		this.program.stdin?.write(text);
	}

	/** Types the end of input, as Ctrl-D does. */
	leaves(): void {
		this.program.stdin?.end();
	}
}
