import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ControlClient, type FoundRun } from "@snakepit/control";
import { TOKEN } from "../../../control/test/fake-run.ts";
import { buildPage } from "../../build-page.ts";
import { type DashServer, serveDash } from "../../src/dash/dash-server.ts";
import { type PageFiles, readPage } from "../../src/dash/page-answers.ts";
import { systemClock } from "../../src/dash/run-events.ts";
import { type RunSource, runsOfUser } from "../../src/dash/run-source.ts";

/** Builds the page, as the package's build does. */
export async function builtPage(): Promise<PageFiles> {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-page-"));
	try {
		await buildPage(directory);
		return readPage(directory);
	} finally {
		rmSync(directory, { recursive: true });
	}
}

/** The dashboard of the runs of one data directory. */
export async function dashboardOf(
	dataDir: string,
	page: PageFiles,
): Promise<DashServer> {
	const runs = runsOfUser({ dataDir });
	return await serveDash({ page, port: 0, runs, clock: systemClock });
}

/** The dashboard of one run that a test serves itself. */
export async function dashboardOfSocket(
	socketPath: string,
	page: PageFiles = new Map(),
): Promise<DashServer> {
	const run = {
		...{ runId: "abcdefg", pid: process.pid, program: "fake.ts" },
		...{ dataDir: "/nowhere", startedAtMs: 1, directory: "/nowhere" },
	} as FoundRun;
	const runs: RunSource = {
		list: async () => [run],
		attach: async () =>
			new ControlClient({
				...{ run, socketPath, token: TOKEN, by: "a test", silentMs: 20_000 },
			}),
		history: async () => [],
	};
	return await serveDash({ page, port: 0, runs, clock: systemClock });
}
