import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandFailed } from "../command/failures.ts";
import { packageDirectory } from "../command/packages.ts";
import { type DashServer, serveDash } from "./dash-server.ts";
import { readPage } from "./page-answers.ts";
import { systemClock } from "./run-events.ts";
import { runsOfUser } from "./run-source.ts";

export interface DashOptions {
	readonly run?: string;
	readonly dataDir?: string;
	readonly port?: number;
	readonly open: boolean;
	readonly json?: true;
}

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
	const runs = runsOfUser({ dataDir, run });
	if (run !== undefined && (await runs.list()).length === 0)
		throw new CommandFailed(
			"absent",
			`No run "${run}" can be shown. List open runs: snakepit ps.`,
		);
	let removeLink = (): void => {};
	const server = await listening(port, {
		page: readPage(page),
		runs,
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
