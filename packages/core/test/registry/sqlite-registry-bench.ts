import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { thisProgram } from "../../src/os/this-program.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { OwnFiles } from "../../src/registry/own-files.ts";
import { openNewRun } from "../../src/registry/run-file.ts";
import { SqliteRegistry } from "../../src/registry/sqlite-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { sqlite } from "../cleanup/bench.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** A registry with its file, which a stranger can lock or damage. */
export class Bench {
	readonly registry: SqliteRegistry;
	readonly clock: VirtualClock;
	readonly events: EventRecorder;
	readonly released: boolean[];
	readonly read: () => unknown;
	readonly #path: string;
	#stranger: Database.Database | undefined;

	private constructor(
		registry: SqliteRegistry,
		clock: VirtualClock,
		events: EventRecorder,
		released: boolean[],
		read: () => unknown,
		path: string,
	) {
		this.registry = registry;
		this.clock = clock;
		this.events = events;
		this.released = released;
		this.read = read;
		this.#path = path;
	}

	static async open({
		content = "recorded",
	}: {
		readonly content?: "recorded" | "left_out";
	} = {}): Promise<Bench> {
		const clock = new VirtualClock();
		const events = new EventRecorder();
		const released: boolean[] = [];
		const directory = new LedgerDirectory(temporaryDirectory());
		const { name, lock, file, run } = await openNewRun({
			sqlite,
			directory,
			owner: machine.self,
			program: thisProgram("recorded"),
			clock,
			random: new SeededRandom(1),
			makeRunDirectory: () => "/nowhere",
			removeFiles: () => {},
		});
		const registry = new SqliteRegistry({
			clock,
			emit: events.record,
			files: new OwnFiles({ sqlite, directory, name, file, lock }),
			run,
			content,
			marker: "marker",
			listener: { activated: () => {}, ended: () => {} },
			release: (over) => released.push(over),
		});
		const bench = new Bench(
			registry,
			clock,
			events,
			released,
			() => readRunFile(sqlite, file.path, name),
			file.path,
		);
		onTestFinished(() => {
			bench.unlock();
			registry.close();
			lock.release("removed");
		});
		return bench;
	}

	/** A stranger holds the file. */
	lock(): void {
		this.#stranger = new Database(this.#path);
		this.#stranger.exec("begin immediate");
	}

	/** Somebody takes the table away. */
	damage(): void {
		const stranger = new Database(this.#path);
		stranger.exec("drop table workers");
		stranger.close();
	}

	unlock(): void {
		this.#stranger?.close();
		this.#stranger = undefined;
	}

	reserve(): string {
		const incarnation = this.registry.nextIncarnation();
		this.registry.reserve({
			incarnation,
			workerId: "w-0",
			pool: "w",
			fingerprint: "x",
			files: [],
		});
		return incarnation;
	}

	of<Type extends SnakepitEvent["type"]>(type: Type): readonly SnakepitEvent[] {
		return this.events.events.filter((event) => event.type === type);
	}
}
