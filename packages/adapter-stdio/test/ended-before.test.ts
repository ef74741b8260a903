import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import type {
	Adapter,
	CallOptions,
	WorkerProcess,
} from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { jsonRpc, lines } from "../src/index.ts";

/** A process that lives and has closed its output before anyone listened: a guard reports the start a little later. */
async function muteProcess(): Promise<WorkerProcess> {
	const stdout = Readable.from([]);
	stdout.resume();
	await once(stdout, "end");
	return {
		stdin: new PassThrough(),
		stdout,
		exited: new Promise(() => {}),
		starting: () => {},
	} as Partial<WorkerProcess> as WorkerProcess;
}

test.each<[string, Adapter]>([
	["lines()", lines({ command: ["unused"] })],
	["jsonRpc()", jsonRpc({ command: ["unused"] })],
])(
	"a call of %s does not wait for an answer of a process that had ended its output",
	async (_, adapter) => {
		const { signal } = new AbortController();
		const connection = await adapter.connect(await muteProcess(), signal);
		const call = { signal } as CallOptions;
		await expect(connection.execute("a", "b", call)).rejects.toThrow(
			"it has ended its output",
		);
	},
);
