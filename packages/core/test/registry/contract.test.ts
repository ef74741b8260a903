import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, test } from "vitest";
import type { CloseError } from "../../src/contract/errors.ts";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { registryContract } from "./registry-contract.ts";

/** The only run file below a directory. */
function runFile(dataDir: string): string {
	const files = readdirSync(dataDir, { recursive: true, encoding: "utf8" });
	const [path, ...others] = files.filter((name) => name.endsWith(".db"));
	if (path === undefined || others.length > 0)
		throw new Error(`Not one run file: ${files.join(", ")}`);
	return join(dataDir, path);
}

describe("the registry on disk keeps the registry contract", () => {
	const cases = registryContract({
		open: async () => {
			const dataDir = mkdtempSync(join(tmpdir(), "snakepit-registry-"));
			const { events, record } = new EventRecorder();
			const run = await openRun({
				dataDir,
				onEvent: record,
			});
			let stranger: Database.Database | undefined;
			const healWrites = (): void => {
				stranger?.close();
				stranger = undefined;
			};
			return {
				registry: run.infrastructure.registry,
				owner: run.infrastructure.host.self,
				events,
				// A stranger who holds the file stands for every write that fails.
				failWrites: () => {
					stranger = new Database(runFile(dataDir));
					stranger.exec("begin immediate");
				},
				healWrites,
				release: async () => {
					healWrites();
					// A worker that a case left active has the identity of this process, which lives.
					await run.close().catch((error: CloseError) => {
						if (error.code !== "STILL_THERE") throw error;
					});
					// What is closed over living workers keeps its directory as evidence.
					for (const path of [dataDir, run.infrastructure.runDirectory])
						rmSync(path, { recursive: true, force: true });
				},
			};
		},
	});
	test.each(cases)("$title", ({ run }) => run());
});
