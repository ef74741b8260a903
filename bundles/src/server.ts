import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** A server takes so long to listen, and its route to answer, at most. */
const LIMIT_MS = 120_000;

/**
 * Starts a server on a free port of the loopback, asks one route of it, and ends it.
 *
 * @param args given the port, the arguments of Node.
 * @throws Error when it does not listen, does not answer with 200, or does not end.
 */
export async function askServer(
	args: (port: number) => readonly string[],
	route: string,
	cwd: string,
	env: NodeJS.ProcessEnv,
): Promise<string> {
	const port = await freePort();
	const server = spawn(process.execPath, args(port), {
		cwd,
		env: { ...env, HOSTNAME: "127.0.0.1", PORT: String(port) },
		stdio: ["ignore", "pipe", "inherit"],
	});
	const exited = once(server, "exit");
	try {
		const limit = AbortSignal.timeout(LIMIT_MS);
		await Promise.race([isReady(server.stdout, limit), exited]);
		if (server.exitCode !== null)
			throw new Error(`The server ended with ${server.exitCode}.`);
		const url = `http://127.0.0.1:${port}${route}`;
		const response = await fetch(url, { signal: limit });
		const text = await response.text();
		if (!response.ok) throw new Error(`${response.status}: ${text}`);
		return text;
	} finally {
		server.kill("SIGTERM");
		const late = setTimeout(() => server.kill("SIGKILL"), LIMIT_MS);
		await exited;
		clearTimeout(late);
	}
}

async function isReady(
	output: NodeJS.ReadableStream,
	limit: AbortSignal,
): Promise<void> {
	let said = "";
	output.setEncoding("utf8");
	await new Promise<void>((resolve, reject) => {
		output.on("data", (text: string) => {
			said += text;
			if (said.includes("Ready in")) resolve();
		});
		limit.addEventListener("abort", () =>
			reject(new Error(`The server was not ready in time:\n${said}`)),
		);
	});
}

async function freePort(): Promise<number> {
	const probe = createServer().listen(0, "127.0.0.1");
	await once(probe, "listening");
	const address = probe.address();
	probe.close();
	await once(probe, "close");
	if (address === null || typeof address === "string")
		throw new Error("No port was free.");
	return address.port;
}
