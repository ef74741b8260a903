import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../cleanup/hosts.ts";

/** Takes the lock in a thread of its own; the two meet before and after the step that decides. */
const STARTER = `
const { parentPort, workerData } = require("node:worker_threads");
const { modules, path, arrived } = workerData;
const meet = (place) => {
	Atomics.add(arrived, place, 1);
	Atomics.notify(arrived, place);
	if (Atomics.load(arrived, place) < 2) Atomics.wait(arrived, place, 1, 10_000);
};
(async () => {
	const { takeLock } = await import(modules + "/run-lock.ts");
	const { loadSqlite } = await import(modules + "/sqlite.ts");
	const sqlite = await loadSqlite();
	const lock = takeLock({
		...sqlite,
		open(path, options) {
			const connection = sqlite.open(path, options);
			const exec = connection.client.exec.bind(connection.client);
			connection.client.exec = (sql) => {
				meet(0);
				try {
					return exec(sql);
				} finally {
					meet(1);
				}
			};
			return connection;
		},
	}, path);
	parentPort.once("message", () => {
		if (typeof lock === "object") lock.release("kept");
	});
	parentPort.postMessage(typeof lock === "object" ? "taken" : lock);
})();
`;

test("of two that take a lock at the same moment one gets it", async () => {
	const path = join(temporaryDirectory(), "a.lock");
	writeFileSync(path, "");
	const modules = join(import.meta.dirname, "../../src/registry");
	const arrived = new Int32Array(new SharedArrayBuffer(8));
	const workerData = { modules, path, arrived };
	const starters = [1, 2].map(
		() => new Worker(STARTER, { eval: true, workerData }),
	);
	onTestFinished(async () => {
		const exits = starters.map((starter) => once(starter, "exit"));
		for (const starter of starters) starter.postMessage("over");
		await Promise.all(exits);
	});
	const answers = await Promise.all(
		starters.map(async (starter) => (await once(starter, "message"))[0]),
	);
	expect(answers.toSorted()).toEqual(["held", "taken"]);
});
