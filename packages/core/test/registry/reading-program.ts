import { once } from "node:events";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

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

/** A test that fails before it ends the reader is not held up by it for ever. */
const LONGEST_MS = 25_000;

/** Resolves when a run file is read; that ends after `heldMs` at the latest, or by `end`. */
export async function readFor(
	path: string,
	heldMs: number = LONGEST_MS,
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
