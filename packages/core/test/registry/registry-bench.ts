import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { thisProgram } from "../../src/os/this-program.ts";
import { readRunFile } from "../../src/registry/history.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { OwnFiles } from "../../src/registry/own-files.ts";
import { type NewRun, openNewRun } from "../../src/registry/run-file.ts";
import { runPath } from "../../src/registry/run-name.ts";
import { SqliteRegistry } from "../../src/registry/sqlite-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { sqlite } from "../cleanup/bench.ts";
import { reserveWorker } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** A registry of this process with its files, which a stranger can lock or damage. */
export interface RegistryBench
	extends Pick<NewRun, "name" | "run" | "lock">,
		Pick<EventRecorder, "of"> {
	readonly directory: LedgerDirectory;
	readonly files: OwnFiles;
	readonly registry: SqliteRegistry;
	readonly clock: VirtualClock;
	readonly events: EventRecorder;
	/** One entry for each release of its files: whether the run was over then. */
	readonly released: readonly boolean[];
	readonly path: string;
	readonly lockPath: string;
	/** Enters a worker, and returns its incarnation. */
	reserve(): string;
	/** Of the events so far. */
	types(): readonly string[];
	/** What the ledger of the run has. */
	read(): unknown;
	/** A stranger holds the ledger until `unlock`. */
	holdLedger(): void;
	unlock(): void;
	/** Somebody takes the table away. */
	damage(): void;
}

/** Closed when the test is finished. */
export async function openRegistry(
	content: "recorded" | "left_out" = "recorded",
): Promise<RegistryBench> {
	const clock = new VirtualClock();
	const events = new EventRecorder();
	const released: boolean[] = [];
	const directory = new LedgerDirectory(join(temporaryDirectory(), "state"));
	const { name, lock, file, run } = await openNewRun({
		sqlite,
		directory,
		owner: machine.self,
		program: thisProgram("recorded"),
		clock,
		random: new SeededRandom(1),
		makeRunDirectory: () => "/nowhere",
		removeFiles: (paths) => void machine.remove(paths),
	});
	const files = new OwnFiles({ sqlite, directory, name, file, lock });
	const registry = new SqliteRegistry({
		clock,
		emit: events.record,
		files,
		run,
		content,
		marker: "marker",
		listener: { activated: () => {}, ended: () => {} },
		release: (over) => released.push(over),
	});
	const path = runPath(directory.runs, name, "db");
	let stranger: Database.Database | undefined;
	const unlock = (): void => {
		stranger?.close();
		stranger = undefined;
	};
	onTestFinished(() => {
		unlock();
		registry.close();
		files.release("removed");
	});
	return {
		...{ directory, name, run, lock, files, registry, clock, events },
		...{ released, path, unlock },
		of: events.of.bind(events),
		lockPath: runPath(directory.runs, name, "lock"),
		reserve: () => reserveWorker(registry),
		types: () => events.events.map(({ type }) => type),
		read: () => readRunFile(sqlite, path, name),
		holdLedger: () => {
			stranger = new Database(path);
			stranger.exec("begin immediate");
		},
		damage: () => {
			const database = new Database(path);
			database.exec("drop table workers");
			database.close();
		},
	};
}

/** What is reported of a file that is made anew. */
export const RENEWED: readonly string[] = [
	"registry.file_lost",
	"registry.file_renewed",
];
