import {
	type ChildProcess,
	execFile,
	spawn,
	spawnSync,
} from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

/** One sample as Prometheus answers it. */
interface Sample {
	readonly metric: Readonly<Record<string, string>>;
	readonly value: readonly [number, string];
}

/** A Prometheus of a test's own, on loopback; gone when the test is finished. */
export class PrometheusServer {
	readonly #url: string;

	private constructor(url: string) {
		this.#url = url;
	}

	/** Scrapes the port and evaluates the rules every second. */
	static async start(port: number, rules: string): Promise<PrometheusServer> {
		const directory = mkdtempSync(join(tmpdir(), "snakepit-prometheus-"));
		const config = join(directory, "prometheus.yml");
		writeFileSync(
			config,
			JSON.stringify({
				global: { scrape_interval: "1s", evaluation_interval: "1s" },
				rule_files: [rules],
				scrape_configs: [
					{
						job_name: "host",
						static_configs: [{ targets: [`127.0.0.1:${port}`] }],
					},
				],
			}),
		);
		const own = `127.0.0.1:${await freePort()}`;
		const child = spawn(
			"prometheus",
			[
				`--config.file=${config}`,
				`--storage.tsdb.path=${join(directory, "data")}`,
				`--web.listen-address=${own}`,
			],
			{ stdio: ["ignore", "ignore", "pipe"] },
		);
		onTestFinished(async () => {
			await end(child);
			rmSync(directory, { recursive: true, force: true });
		});
		for await (const line of createInterface({
			input: child.stderr as Readable,
		}))
			if (line.includes("ready to receive web requests")) break;
		(child.stderr as Readable).resume();
		return new PrometheusServer(`http://${own}`);
	}

	async query(expression: string): Promise<readonly Sample[]> {
		const url = `${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`;
		const answer = (await (await fetch(url)).json()) as {
			readonly data: { readonly result: readonly Sample[] };
		};
		return answer.data.result;
	}

	async names(): Promise<readonly string[]> {
		const url = `${this.#url}/api/v1/label/__name__/values`;
		const answer = (await (await fetch(url)).json()) as {
			readonly data: readonly string[];
		};
		return answer.data;
	}

	/** Waits until an expression has an answer: Prometheus looks once a second, and tells nobody when it has. */
	async until(
		expression: string,
		deadlineMs = 60_000,
	): Promise<readonly Sample[]> {
		const tooLate = AbortSignal.timeout(deadlineMs);
		while (!tooLate.aborted) {
			const result = await this.query(expression);
			if (result.length > 0) return result;
			await delay(250);
		}
		throw new Error(
			`Prometheus has no answer to ${expression} within ${deadlineMs} ms. It has ${await this.names()}.`,
		);
	}
}

export async function end(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exit = once(child, "exit");
	child.kill("SIGKILL");
	await exit;
}

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const address = server.address();
	await new Promise((resolve) => server.close(resolve));
	if (address === null || typeof address === "string")
		throw new Error("no port");
	return address.port;
}

/** Whether a program of Debian's package `prometheus` is there; where it is not, tests that need it say so and are skipped. */
export function hasProgram(name: "promtool" | "prometheus"): boolean {
	const there =
		spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
	if (!there)
		console.warn(
			`Skipped: ${name} is not installed. On Debian and Ubuntu: apt install prometheus`,
		);
	return there;
}

/** Runs promtool; @throws Error with what it printed when it fails. */
export async function promtool(...args: string[]): Promise<string> {
	try {
		const { stdout } = await promisify(execFile)("promtool", args);
		return stdout;
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new Error(`promtool ${args.join(" ")}:\n${stdout}${stderr}`);
	}
}
