import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";

/** A server takes so long to listen, and its route to answer, at most. */
const LIMIT_MS = 120_000;

/**
 * Starts a server on a free port of the loopback, requests one route of it, and ends it.
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
	const late = setTimeout(() => server.kill("SIGKILL"), LIMIT_MS);
	try {
		let output = "";
		for await (const line of createInterface({ input: server.stdout })) {
			output += `${line}\n`;
			if (line.includes("Ready in")) break;
		}
		if (!output.includes("Ready in"))
			throw new Error(`The server was not ready:\n${output}`);
		server.stdout.resume();
		const response = await fetch(`http://127.0.0.1:${port}${route}`, {
			signal: AbortSignal.timeout(LIMIT_MS),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${response.status}: ${text}`);
		return text;
	} finally {
		server.kill("SIGTERM");
		await exited;
		clearTimeout(late);
	}
}

async function freePort(): Promise<number> {
	const probe = createServer().listen(0, "127.0.0.1");
	await once(probe, "listening");
	const { port } = probe.address() as AddressInfo;
	await once(probe.close(), "close");
	return port;
}
