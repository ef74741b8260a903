import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Contestant } from "./contestant.ts";

/** The limit of everything: each way is one copy within this process. */
export const memcpy: Contestant = {
	name: "limit, memcpy",
	kind: "limit",
	open: async () => {
		const copy = (bytes: Uint8Array): Uint8Array => {
			const to = Buffer.allocUnsafeSlow(bytes.length);
			to.set(bytes);
			return to;
		};
		return {
			pids: [],
			echoBytes: async (bytes) => copy(copy(bytes)),
			takeBytes: async (bytes) => copy(bytes).length,
			[Symbol.asyncDispose]: async () => {},
		};
	},
};

/** The limit of shared memory as files: each way is one write and one read, by this process alone. */
export const sharedMemoryFile: Contestant = {
	name: "limit, write and read of /dev/shm",
	kind: "limit",
	needs: { linux: true },
	open: async () => {
		const path = join("/dev/shm", `snakepit-bench-${process.pid}`);
		const over = (bytes: Uint8Array): Uint8Array => {
			writeFileSync(path, bytes, { mode: 0o600 });
			return readFileSync(path);
		};
		return {
			pids: [],
			echoBytes: async (bytes) => over(over(bytes)),
			takeBytes: async (bytes) => over(bytes).length,
			[Symbol.asyncDispose]: async () => {
				rmSync(path, { force: true });
			},
		};
	},
};
