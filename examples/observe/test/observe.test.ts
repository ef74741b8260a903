import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { isThorough } from "../../../scripts/test-effort.ts";

const program = join(import.meta.dirname, "../src/main.ts");
const cache = join(import.meta.dirname, "../../../node_modules/.cache");
/** A test does not compile the viewer, which takes minutes. */
const viewer = join(cache, "otel-desktop-viewer");
const FIRST_RUN_MS = 300_000;

/** Starts the example, and waits for the URL of the page. */
async function observe(...args: readonly string[]) {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", program, ...args],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const exited = once(child, "exit");
	let output = "";
	let page: string | undefined;
	for await (const line of createInterface({ input: child.stdout })) {
		output += `${line}\n`;
		page = /^open +(http:\S+)$/.exec(line)?.[1];
		if (page !== undefined) break;
	}
	return {
		...{ output, page: page ?? "" },
		/** Ends it as Ctrl-C does. */
		[Symbol.asyncDispose]: async () => {
			child.kill("SIGINT");
			await exited;
		},
	};
}

test.runIf(isThorough())(
	"the demo exports to a viewer, which ends with Ctrl-C",
	async () => {
		const standIn = join(import.meta.dirname, "stand-in-viewer.mjs");
		let url: string;
		{
			await using observation = await observe(standIn);
			url = observation.page;
			expect(observation.output).toMatch(/^telemetry +sent to /m);
			const received = await (await fetch(url)).json();
			expect(received).toEqual(["logs", "metrics", "traces"]);
		}
		await expect(fetch(url)).rejects.toThrow("fetch failed");
	},
	FIRST_RUN_MS,
);

test.runIf(isThorough() && existsSync(viewer))(
	"the demo's traces, metrics and logs are read back from the viewer itself",
	async () => {
		await using observation = await observe();
		expect(observation.output).toMatch(/^telemetry +sent to /m);
		const ask = async (method: string, ...params: readonly string[]) => {
			const response = await fetch(`${observation.page}rpc`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
			});
			// biome-ignore lint/suspicious/noExplicitAny: JSON of another program.
			return ((await response.json()) as { result: any }).result;
		};
		// The range of all its nanoseconds.
		const ever = ["0", `${2n ** 63n - 1n}`] as const;

		// Each image is a trace; the one with an error is that of the killed worker.
		const calls = (await ask("searchTraces", ...ever)).filter(
			({ rootSpan }: { rootSpan?: { name: string } }) =>
				rootSpan?.name === "call read",
		);
		expect(calls).toHaveLength(1_797);
		const failed = calls.filter(
			({ errorCount }: { errorCount: number }) => errorCount > 0,
		);
		expect(failed).toHaveLength(1);
		const { spans } = await ask("searchSpans", failed[0].traceID);
		const names = spans.map(
			({ spanData }: { spanData: { name: string } }) => spanData.name,
		);
		expect(
			names.filter((name: string) => name === "attempt read"),
		).toHaveLength(2);
		expect(names).toContain("read");

		expect(await ask("searchMetricSummaries", ...ever)).toContainEqual(
			expect.objectContaining({
				...{ name: "snakepit.call.duration", unit: "s" },
				serviceName: "snakepit-demo",
			}),
		);
		expect(await ask("searchLogs", ...ever)).toContainEqual(
			expect.objectContaining({ severityText: "WARN" }),
		);
	},
	FIRST_RUN_MS,
);
