import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Receiver } from "../../../packages/telemetry/test/e2e/receiver.ts";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import { FIRST_RUN_MS, runDemo } from "./demo-program.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);
// What runs the demo twice is for `check`. That a retry and a restart are linked to what failed is shown in telemetry.
test.runIf(isThorough())(
	"a host that was killed, and the run after it: traces, metrics and events of both languages are received",
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const state = temporaryDirectory();
		const flags = ["--otlp", receiver.url];
		const events = () => receiver.records.map(({ eventName }) => eventName);

		const killed = await runDemo(state, [...flags, "--kill-host"]);
		expect(killed.output).toContain("killed host");
		await receiver.caughtUp();
		// It could not end anything, and what it had not sent is lost.
		expect(events()).toContain("snakepit.run.started");
		expect(events()).not.toContain("snakepit.run.ended");

		for (const received of [receiver.spans, receiver.points, receiver.records])
			received.length = 0;
		const { code, output, errors } = await runDemo(state, flags);
		expect(errors).toBe("");
		expect(output.trimEnd()).toMatch(
			new RegExp(`\\ntelemetry +sent to ${receiver.url}$`),
		);
		expect(code).toBe(0);
		await receiver.caughtUp();

		// One call, in both processes.
		const calls = receiver.spans.filter(({ name }) => name === "call read");
		expect(calls).toHaveLength(1_797);
		const untroubled = calls.filter(({ events }) => events.length === 0);
		expect(untroubled.map((call) => receiver.tree(call))).toContain(
			[
				"call read (@snakepit/telemetry)",
				"  queue (@snakepit/telemetry)",
				"  attempt read (@snakepit/telemetry)",
				"    read (snakepit_bridge)",
			].join("\n"),
		);
		for (const [name, service] of [
			["call read", "snakepit-demo"],
			["read", "snakepit-demo-workers"],
		] as const)
			expect((await receiver.until(name)).resource).toMatchObject({
				"service.name": service,
				"service.namespace": "snakepit",
			});
		// A worker's spans name its machine; users, folders and the command line are not sent.
		expect((await receiver.until("read")).resource).toMatchObject({
			"host.name": hostname(),
		});
		for (const { resource } of receiver.spans)
			for (const name of Object.keys(resource ?? {}))
				expect(name).not.toMatch(/^process\.(command|executable|owner)/);

		// The clean-up after the host that was killed, and the worker that was.
		expect(await receiver.until("cleanup")).toMatchObject({
			attributes: { "snakepit.cleanup.dead_runs": 1 },
		});
		expect(receiver.records).toContainEqual(
			expect.objectContaining({
				...{ eventName: "snakepit.worker.exited", severity: "WARN" },
				attributes: expect.objectContaining({
					"snakepit.worker.exit.signal": "SIGKILL",
					"snakepit.worker.end.reason": "exited",
				}),
			}),
		);
		expect(events()).toContain("snakepit.run.ended");
		expect(receiver.points.map(({ name }) => name)).toContain(
			"snakepit.call.duration",
		);
	},
	2 * FIRST_RUN_MS,
);
