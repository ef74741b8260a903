import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { Receiver } from "../../../packages/telemetry/test/e2e/receiver.ts";
import { newState, runProgram } from "./demo-program.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);
/** Fifty calls of one small worker, exported as the demo exports its own. */
const CALLS = 50;
const PROGRAM = fileURLToPath(new URL("programs/exports.ts", import.meta.url));

test("both languages export the sampled calls and no others, and all calls are measured", async () => {
	vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
	vi.stubEnv("OTEL_TRACES_SAMPLER_ARG", "0.5");
	onTestFinished(() => void vi.unstubAllEnvs());
	const receiver = await Receiver.start(PYTHON);
	const { code, output } = await runProgram(PROGRAM, newState(), [
		receiver.url,
		PYTHON,
	]);
	expect(output).toMatch(/^answered 50 calls$/m);
	expect(output).toMatch(/^telemetry +sent /m);
	expect(code).toBe(0);
	await receiver.caughtUp();

	const tracesOf = (wanted: string): string[] =>
		receiver.spans
			.filter(({ name }) => name === wanted)
			.map(({ traceId }) => traceId)
			.sort();
	const calls = tracesOf("call add");
	// None or all of them is as good as impossible.
	expect(calls.length).toBeGreaterThan(0);
	expect(calls.length).toBeLessThan(CALLS);
	// What the worker exported.
	expect(tracesOf("add")).toEqual(calls);
	expect(
		receiver.points.findLast(
			({ name, attributes }) =>
				name === "snakepit.call.duration" &&
				attributes["snakepit.command"] === "add",
		)?.value,
	).toBe(CALLS);
});

const WARNING =
	/^\(node:\d+\) \[SNAKEPIT_TELEMETRY_MISCONFIGURED\] .*\n\(Use .*\n/m;

test("a receiver that never answers neither fails nor delays a program, and is reported in one line", async () => {
	let requests = 0;
	const server = createServer(() => void requests++);
	await once(server.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	const { port } = server.address() as AddressInfo;
	let leftAtMs = 0;
	const { code, output, errors } = await runProgram(
		PROGRAM,
		newState(),
		[`http://127.0.0.1:${port}`, PYTHON],
		(printed) => {
			if (leftAtMs === 0 && printed.includes("\nleft "))
				leftAtMs = performance.now();
		},
	);
	const delayedMs = performance.now() - leftAtMs;
	// A program that lives for more than 5 s is also warned that its telemetry is lost, once.
	expect(errors.replace(WARNING, "")).toBe("");
	expect(output).toMatch(/^answered 50 calls$/m);
	expect(output.match(/^telemetry +had trouble .*$/gm)).toHaveLength(1);
	expect(output).not.toMatch(/opentelemetry/i);
	expect(code).toBe(0);
	expect(leftAtMs).toBeGreaterThan(0);
	expect(requests).toBeGreaterThan(2);
	// Five seconds are the limit; the rest is for a busy machine.
	expect(delayedMs).toBeLessThan(60_000);
});
