import { existsSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { CommandFailed } from "../command/command-failed.ts";
import { packageDirectory } from "../command/package-directory.ts";
import { type DashServer, serveDash } from "./dash-server.ts";
import { readRuns } from "./history.ts";
import { openInBrowser } from "./open-in-browser.ts";
import { readPage } from "./page-files.ts";
import type { DashClock } from "./run-routes.ts";
import { livingRuns } from "./run-source.ts";

export interface DashOptions {
	readonly run?: string;
	readonly dataDir?: string;
	readonly port?: number;
	readonly open: boolean;
	readonly json?: true;
}

/** The clock of this process. */
export const systemClock: DashClock = {
	pause: async (ms, signal) => {
		await pause(ms, undefined, { signal }).catch(() => {});
	},
};

/**
 * Serves the dashboard until the process ends.
 *
 * @param page the directory of the built page.
 */
export async function dash(
	options: DashOptions,
	page: string = packageDirectory("dist/page"),
): Promise<void> {
	if (!existsSync(page))
		throw new CommandFailed(
			"failed",
			`The page of the dashboard is not in ${page}. In a clone of Snakepit, build it first: npx pnpm@12 build.`,
		);
	const { dataDir, run, port = 0, open, json } = options;
	const runs = livingRuns({ dataDir, run });
	if (run !== undefined && (await runs.list()).length === 0)
		throw new CommandFailed(
			"absent",
			`No run "${run}" can be shown. List open runs: snakepit ps.`,
		);
	let removeLink = (): void => {};
	const server = await listening(port, {
		page: readPage(page),
		runs,
		history: () => readRuns(dataDir),
		clock: systemClock,
		onOpened: () => removeLink(),
	});
	if (json) console.log(JSON.stringify({ url: server.url, port: server.port }));
	else
		console.log(
			`${server.url}\nThe link opens the dashboard in one browser, once. Ctrl-C ends it.`,
		);
	if (open && json === undefined) removeLink = openInBrowser(server.url);
	for (const signal of ["SIGINT", "SIGTERM"] as const)
		process.once(signal, () => {
			removeLink();
			process.kill(process.pid, signal);
		});
}

async function listening(
	port: number,
	setting: Omit<Parameters<typeof serveDash>[0], "port">,
): Promise<DashServer> {
	try {
		return await serveDash({ ...setting, port });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		if (code === "ERR_SOCKET_BAD_PORT")
			throw new CommandFailed("usage", `${port} is not a port.`);
		if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
		throw new CommandFailed(
			"failed",
			`The dashboard cannot listen on port ${port} (${message}). Choose another with --port, or leave it out.`,
		);
	}
}
