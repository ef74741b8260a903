import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkerProcess } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { VERSION } from "../../src/gen/version.ts";
import { python } from "../../src/index.ts";
import { scratch } from "../support/fake-python.ts";

/** Where the descriptors of this program lead that lead into a directory. */
function openBelow(directory: string): readonly string[] {
	return readdirSync("/proc/self/fd").flatMap((descriptor) => {
		try {
			const target = readlinkSync(`/proc/self/fd/${descriptor}`);
			return target.startsWith(directory) ? [target] : [];
		} catch {
			// That of the listing is closed by now.
			return [];
		}
	});
}

test.runIf(process.platform === "linux").each([1, 2])(
	"a worker that takes %d calls and cannot be connected to leaves no descriptor of its page of calls",
	async (callsPerWorker) => {
		const directory = scratch();
		writeFileSync(join(directory, "calls"), Buffer.alloc(4096));
		const worker = {
			slot: {
				workerId: "worker-0",
				directory,
				sharedDirectory: directory,
				callsPerWorker,
			},
			ready: {
				protocol: 1,
				bridge: VERSION,
				python: "3.12.0",
				transport: "framed",
			},
			token: "token",
		} as unknown as WorkerProcess;
		const adapter = python({ tools: { module: "tools" } });
		const { signal } = new AbortController();
		// Nothing listens there.
		await expect(adapter.connect(worker, signal)).rejects.toMatchObject({
			code: "CONNECT_FAILED",
		});
		expect(openBelow(directory)).toEqual([]);
	},
);
