import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
	createPool,
	type EventOf,
	type Pool,
	type PoolOptions,
	type SnakepitEvent,
	type SnakepitEventType,
} from "@snakepit/core";
import { onTestFinished } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { type PythonOptions, python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

/** A directory with tools that are saved while a pool runs. */
export class ToolsProject {
	readonly root: string = mkdtempSync(join(tmpdir(), "snakepit-tools-"));
	readonly tools: string = join(this.root, "tools.py");

	constructor() {
		onTestFinished(() => removeDirectory(this.root));
	}

	/** Writes a file in place. */
	save(name: string, text: string): void {
		const path = join(this.root, name);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, text);
	}

	/** Writes another file and renames it, as vim and others do. */
	replace(name: string, text: string): void {
		this.save(`${name}.new`, text);
		renameSync(join(this.root, `${name}.new`), join(this.root, name));
	}

	/** A pool of these tools that watches them, and what happens in it. */
	async pool(
		adapter: Partial<PythonOptions> = {},
		options: Partial<PoolOptions> = {},
	): Promise<WatchedPool> {
		const events = new Events();
		const pool = await createPool({
			adapter: python({
				tools: this.tools,
				python: PYTHON,
				watch: true,
				...adapter,
			}),
			size: 2,
			dataDir: join(this.root, "ledger"),
			output: { echo: "none" },
			...options,
			onEvent: (event) => events.add(event),
		});
		onTestFinished(() => pool.close({ drainMs: 0 }));
		return { pool, events };
	}
}

export interface WatchedPool {
	readonly pool: Pool;
	readonly events: Events;
}

/** What happened, and what is yet to happen. */
class Events {
	readonly #all: SnakepitEvent[] = [];
	#waiting: (() => void)[] = [];

	add(event: SnakepitEvent): void {
		this.#all.push(event);
		for (const look of this.#waiting.splice(0)) look();
	}

	of<Type extends SnakepitEventType>(type: Type): readonly EventOf<Type>[] {
		return this.#all.filter((event) => event.type === type) as EventOf<Type>[];
	}

	/** Waits for the event of a type that is number `count`. */
	nth<Type extends SnakepitEventType>(
		type: Type,
		count: number,
	): Promise<EventOf<Type>> {
		return this.#found(() => this.of(type)[count - 1]);
	}

	/** Waits for the line of a worker that is number `count` of those that match. */
	line(pattern: RegExp, count = 1): Promise<RegExpExecArray> {
		return this.#found(
			() =>
				this.of("worker.output").flatMap(({ line }) => {
					const match = pattern.exec(line);
					return match === null ? [] : [match];
				})[count - 1],
		);
	}

	async #found<T>(look: () => T | undefined): Promise<T> {
		for (;;) {
			const found = look();
			if (found !== undefined) return found;
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
	}
}

/** A module with one tool, which answers with a number. */
export const answering = (number: number | string): string =>
	`from snakepit_bridge import tool\n\n\n@tool\ndef answer() -> int:\n    return ${number}\n`;
