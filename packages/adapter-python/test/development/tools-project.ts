import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type {
	EventOf,
	Pool,
	PoolOptions,
	SnakepitEventType,
} from "@snakepit/core";
import { EventRecorder } from "@snakepit/core/testing";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { type PythonOptions, python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

/** A directory with tools that are saved while a pool runs. */
export class ToolsProject {
	readonly root: string = temporaryDirectory();
	readonly tools: string = join(this.root, "tools.py");

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
		const { pool } = await testPool({
			adapter: python({
				tools: this.tools,
				python: PYTHON,
				watch: true,
				...adapter,
			}),
			size: 2,
			...options,
			onEvent: events.record,
		});
		return { pool, events };
	}
}

export interface WatchedPool {
	readonly pool: Pool;
	readonly events: Events;
}

/** What happened, and what is yet to happen. */
class Events extends EventRecorder {
	/** Waits for the event of a type that is number `count`. */
	async nth<Type extends SnakepitEventType>(
		type: Type,
		count: number,
	): Promise<EventOf<Type>> {
		while (this.of(type).length < count) await this.next(type);
		return this.of(type)[count - 1] as EventOf<Type>;
	}

	/** Waits for the line of a worker that is number `count` of those that match. */
	async line(pattern: RegExp, count = 1): Promise<RegExpExecArray> {
		for (;;) {
			const matches = this.of("worker.output").map(({ line }) =>
				pattern.exec(line),
			);
			const match = matches.filter((each) => each !== null)[count - 1];
			if (match !== undefined) return match;
			await this.next("worker.output");
		}
	}
}

/** A module with one tool, which answers with a number. */
export const answering = (number: number | string): string =>
	`from snakepit_bridge import tool\n\n\n@tool\ndef answer() -> int:\n    return ${number}\n`;
