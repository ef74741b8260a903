import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isThorough, rows } from "../../../scripts/test-effort.ts";
import {
	EXPORTS,
	FIRST_RUN_MS,
	goneAfterMs,
	newState,
	runDemo,
	runProgram,
} from "./demo-program.ts";
import { closedPort, listen } from "./listen.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);

test.each(
	rows(
		[
			{
				what: "fifty calls",
				run: (url: string, onOutput: (printed: string) => void) =>
					runProgram(EXPORTS, newState(), [url, PYTHON], onOutput),
				answered: /^answered 50 calls$/m,
				probes: 0,
			},
			{
				what: "the demo",
				run: (url: string, onOutput: (printed: string) => void) =>
					runDemo(newState(), ["--otlp", url], onOutput),
				answered: /^answered +1,797 of 1,797 images exactly once$/m,
				// Without an answer to it the demo would do without telemetry.
				probes: 1,
			},
		],
		({ what }) => what === "fifty calls",
	),
)(
	"a receiver that stops answering neither fails nor delays $what, and is reported in one line",
	async ({ run, answered, probes }) => {
		let requests = 0;
		const server = createServer((_, response) => {
			if (requests++ < probes) response.end();
		});
		const url = await listen(server);
		onTestFinished(() => server.closeAllConnections());
		let leftAtMs = 0;
		const { code, output, errors } = await run(url, (printed) => {
			if (leftAtMs === 0 && printed.includes("\nleft "))
				leftAtMs = performance.now();
		});
		const delayedMs = performance.now() - leftAtMs;
		expect(errors).toBe("");
		expect(output).toMatch(answered);
		expect(output.match(/^telemetry +had trouble .*$/gm)).toHaveLength(1);
		expect(output).not.toMatch(/opentelemetry/i);
		expect(code).toBe(0);
		expect(leftAtMs).toBeGreaterThan(0);
		expect(requests).toBeGreaterThan(probes + 2);
		// Five seconds are the limit; the rest is for a busy machine.
		expect(delayedMs).toBeLessThan(60_000);
	},
	FIRST_RUN_MS,
);

test.runIf(isThorough())(
	"a receiver that takes only traces is reported in one line with what it refused",
	async () => {
		const server = createServer((request, response) => {
			request.resume();
			response.writeHead(request.url === "/v1/traces" ? 200 : 404).end();
		});
		const url = await listen(server);
		const { code, output, errors } = await runDemo(newState(), ["--otlp", url]);
		expect(errors).toBe("");
		expect(output.match(/^telemetry +.*$/gm)).toEqual([
			`telemetry    had trouble  to ${url}: traces arrived, metrics were refused, logs were refused: 404 Not Found`,
		]);
		expect(code).toBe(0);
	},
	FIRST_RUN_MS,
);

test.runIf(isThorough())(
	"without a receiver the demo prints one line and runs without telemetry",
	async () => {
		const url = await closedPort();
		const { output } = await runDemo(newState(), [
			"--kill-host",
			"--otlp",
			url,
		]);
		expect(output.match(/^.*no telemetry.*$/gm)).toEqual([
			`host | no telemetry: no OTLP receiver at ${url}: connect ECONNREFUSED ${new URL(url).host}`,
		]);
		expect(goneAfterMs(output)).toBeLessThan(10_000);
	},
	FIRST_RUN_MS,
);
