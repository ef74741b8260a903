import { expect, onTestFinished, test } from "vitest";
import { thisProgram } from "../../src/os/this-program.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { openNewRun, type RunFile } from "../../src/registry/run-file.ts";
import { reserved } from "../../src/registry/workers.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { sqlite } from "../cleanup/bench.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";
import { readFor } from "./reading-program.ts";

/** Far shorter than the first commit waits. */
const HELD_MS = 300;

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
