import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { Connection } from "../../src/contract/connection.ts";
import { ConnectionBrokenError } from "../../src/contract/errors.ts";
import type { LaunchSpec, WorkerProcess } from "../../src/contract/launch.ts";
import { createPool } from "../../src/run/open-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const ANSWER_BYTES = 3_000_000;
/** Answers a line at descriptor 3 with so many bytes at descriptor 4, and ends. */
const program: LaunchSpec = {
	executable: "sh",
	args: ["-c", `read -r line <&3; exec head -c ${ANSWER_BYTES} /dev/zero >&4`],
	descriptors: [
		{ fd: 3, kind: "stream" },
		{ fd: 4, kind: "stream" },
		{ fd: 5, kind: "unix-listener" },
	],
};

/** Its answer is what it wrote until it was gone, of which a part is read in each turn. */
function converse(process: WorkerProcess): Connection {
	let bytes = 0;
	const read = async (): Promise<void> => {
		for await (const chunk of process.descriptor(4)) {
			bytes += (chunk as Buffer).length;
			await new Promise(setImmediate);
		}
	};
	void read();
	return {
		execute: async () => {
			process.descriptor(3).write("go\n");
			const exit = await process.exited;
			if (bytes === ANSWER_BYTES) return process.listener(5);
			throw new ConnectionBrokenError({
				ran: "maybe",
				message: `It ended (${JSON.stringify(exit)}) after ${bytes} bytes.`,
			});
		},
		[Symbol.asyncDispose]: async () => {},
	};
}

test("a program that ends after its answer on a descriptor has answered, and the next one has descriptors of its own", async () => {
	const adapter: Adapter = {
		name: "descriptors",
		launch: () => program,
		connect: async (process) => converse(process),
	};
	const pool = await createPool({
		...{ adapter, size: 1, dataDir: temporaryDirectory() },
		output: { echo: "none" },
	});
	onTestFinished(() => pool.close({ manner: "forced" }));
	const addresses = [];
	for (let call = 0; call < 2; call++)
		addresses.push((await pool.execute("any")) as { readonly path: string });
	const [one, other] = addresses.map(({ path }) => path);
	expect(one).not.toBe(other);
	expect(one !== undefined && existsSync(one)).toBe(false);
});
