import { spawn } from "node:child_process";
import {
	existsSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
	attach,
	type ControlClient,
	ControlError,
	type FoundRun,
	findRuns,
} from "@snakepit/control";
import type { RunHistory } from "@snakepit/core/inspect";
import { CommandFailed } from "../command/failures.ts";
import { packageDirectory } from "../command/packages.ts";
import { type DashServer, serveDash } from "./dash-server.ts";
import type { DashClock } from "./run-routes.ts";

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
	dependencies: Omit<Parameters<typeof serveDash>[0], "port">,
): Promise<DashServer> {
	try {
		return await serveDash({ ...dependencies, port });
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

/**
 * Opens an address in the user's browser, if there is a desktop.
 *
 * @returns removes what the browser opened.
 */
function openInBrowser(url: string): () => void {
	const { platform, env } = process;
	const hasDesktop =
		platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
	if (!hasDesktop) return () => {};
	const link = privateLink(url);
	const opener = platform === "darwin" ? "open" : "xdg-open";
	const child = spawn(opener, [link.file], { stdio: "ignore", detached: true });
	child.on("error", () => {}); // The address is printed as well.
	child.unref();
	return link.remove;
}

/**
 * A private file that redirects to an address: the address contains a secret, and other users can read the arguments of
 * a process.
 */
export function privateLink(url: string): {
	readonly file: string;
	readonly remove: () => void;
} {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-dash-"));
	const file = join(directory, "open.html");
	writeFileSync(
		file,
		`<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`,
		{ mode: 0o600 },
	);
	const remove = (): void =>
		rmSync(directory, { recursive: true, force: true });
	return { file, remove };
}

/** One file of the page. */
interface PageFile {
	readonly type: string;
	readonly body: Uint8Array;
}

/** The files of the page by their path in the URL. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
};

/** Reads the page that the build made. Files of other types are not served. */
export function readPage(directory: string): PageFiles {
	const files = readdirSync(directory).flatMap((name) => {
		const type = TYPES[extname(name)];
		if (type === undefined) return [];
		const path = name === "index.html" ? "/" : `/${name}`;
		return [
			[path, { type, body: readFileSync(join(directory, name)) }],
		] as const;
	});
	return new Map(files);
}

const RUNS = 50;
const WORKERS = 100;

/** Reads the latest runs of a data directory, living and dead. The ledger is loaded only when the page shows it. */
export async function readRuns(
	dataDir: string | undefined,
): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const options = { dataDir, runs: RUNS, workersPerRun: WORKERS };
	return await Array.fromAsync(readHistory(options));
}

/** A run as the page lists it. */
export type ListedRun = Omit<FoundRun, "directory">;

/** Where the dashboard finds runs. */
export interface RunSource {
	/** Living runs, newest first. */
	list(): Promise<readonly ListedRun[]>;
	/** @throws ControlError `NO_SUCH_RUN`. */
	attach(runId: string): Promise<ControlClient>;
}

interface LivingRunsOptions {
	/** Only runs of this data directory. */
	readonly dataDir?: string | undefined;
	/** Only the run whose id begins with this. */
	readonly run?: string | undefined;
}

/** A program that does not answer for longer is shown as silent. */
const SILENT_MS = 2_000;

/** The runs of this user that can be attached to. */
export function livingRuns({
	dataDir,
	run = "",
}: LivingRunsOptions): RunSource {
	return {
		list: async () => {
			const all = await findRuns(dataDir);
			return all
				.filter(({ runId }) => runId.startsWith(run))
				.map(({ directory: _, ...rest }) => rest);
		},
		attach: async (runId) => {
			if (!runId.startsWith(run))
				throw new ControlError({
					code: "NO_SUCH_RUN",
					message: `This dashboard shows runs whose id begins with ${run}.`,
				});
			return await attach({
				...{ dataDir, run: runId, silentMs: SILENT_MS },
				by: "snakepit dash",
			});
		},
	};
}
