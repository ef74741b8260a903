import { once } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { thisProgram } from "../../src/os/this-program.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { openNewRun } from "../../src/registry/new-run.ts";
import type { RunFile } from "../../src/registry/run-file.ts";
import { reserved } from "../../src/registry/worker-life.ts";
import { SeededRandom, VirtualClock } from "../../src/testing.ts";
import { sqlite } from "../cleanup/bench.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

/** Far shorter than the first commit waits. */
const HELD_MS = 300;

/** Reads the file for so long, or until it is ended: as the start of another program on a busy machine. */
const READER = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.module);
const database = new Database(workerData.path, { readonly: true });
database.exec("begin");
database.prepare("select * from runs").get();
parentPort.postMessage("reads");
Atomics.wait(workerData.over, 0, 0, workerData.heldMs);
database.close();
`;

async function readFor(
	path: string,
	heldMs?: number,
): Promise<{ end: () => void; exited: Promise<unknown> }> {
	const over = new Int32Array(new SharedArrayBuffer(4));
	const module = createRequire(import.meta.url).resolve("better-sqlite3");
	const workerData = { module, path, heldMs, over };
	const reader = new Worker(READER, { eval: true, workerData });
	const exited = once(reader, "exit");
	await once(reader, "message");
	const end = (): void => {
		Atomics.store(over, 0, 1);
		Atomics.notify(over, 0);
	};
	return { end, exited };
}

async function newFile(): Promise<{
	file: RunFile;
	write: (n: number) => void;
}> {
	const { file, lock, name } = await openNewRun({
		sqlite,
		directory: new LedgerDirectory(temporaryDirectory()),
		owner: machine.self,
		program: thisProgram("recorded"),
		clock: new VirtualClock(),
		random: new SeededRandom(1),
		makeRunDirectory: () => "/nowhere",
		removeFiles: () => {},
	});
	onTestFinished(() => {
		file.close("goes_on");
		lock.release("removed");
	});
	const write = (ordinal: number): void => {
		const reservation = {
			incarnation: `${name.runId}-${ordinal}`,
			workerId: "w-0",
			pool: "w",
			fingerprint: "x",
			files: [],
		};
		const worker = reserved(undefined, reservation, name.runId, 0);
		file.write([{ worker, ordinal }], "marker", undefined);
	};
	return { file, write };
}

test("the first worker of a run is recorded although another program reads the file for 300 ms", async () => {
	const { file, write } = await newFile();
	const reader = await readFor(file.path, HELD_MS);
	write(1);
	await reader.exited;
	expect(file.ledger.workers("all")).toHaveLength(1);
});

test("later ones do not wait for a reader: the event loop would stand still", async () => {
	const { file, write } = await newFile();
	write(1);
	const reader = await readFor(file.path);
	expect(() => write(2)).toThrow(/locked/);
	reader.end();
	await reader.exited;
});
