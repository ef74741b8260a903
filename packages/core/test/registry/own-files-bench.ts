import { join } from "node:path";
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
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** A run of this process, its files, and what becomes of both. */
export interface OwnFilesBench {
	readonly directory: LedgerDirectory;
	readonly name: NewRun["name"];
	readonly run: NewRun["run"];
	readonly lock: NewRun["lock"];
	readonly files: OwnFiles;
	readonly registry: SqliteRegistry;
	readonly events: EventRecorder;
	readonly path: string;
	readonly lockPath: string;
	/** Enters a worker, and returns its incarnation. */
	reserve(): string;
	/** Of the events so far. */
	types(): readonly string[];
	/** What the ledger of the run has. */
	read(): ReturnType<typeof readRunFile>;
}

/** Closed when the test is finished. */
export async function openOwnFiles(): Promise<OwnFilesBench> {
	const clock = new VirtualClock();
	const events = new EventRecorder();
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
		content: "recorded",
		marker: "marker",
		listener: { activated: () => {}, ended: () => {} },
		release: () => files.release("removed"),
	});
	onTestFinished(() => registry.close());
	const reserve = (): string => {
		const incarnation = registry.nextIncarnation();
		registry.reserve({
			incarnation,
			workerId: "w-0",
			pool: "w",
			fingerprint: "f",
			files: [],
		});
		return incarnation;
	};
	return {
		directory,
		name,
		run,
		lock,
		files,
		registry,
		events,
		reserve,
		path: runPath(directory.runs, name, "db"),
		lockPath: runPath(directory.runs, name, "lock"),
		types: () => events.events.map(({ type }) => type),
		read: () => readRunFile(sqlite, runPath(directory.runs, name, "db"), name),
	};
}

/** What is reported of a file that is made anew. */
export const RENEWED: readonly string[] = [
	"registry.file_lost",
	"registry.file_renewed",
];
