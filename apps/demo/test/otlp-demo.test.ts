import { fileURLToPath } from "node:url";
import { METRICS } from "@snakepit/telemetry";
import { expect, test } from "vitest";
import {
	type ReceivedSpan,
	Receiver,
} from "../../../packages/telemetry/test/e2e/receiver.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import {
	FIRST_RUN_MS,
	goneAfterMs,
	newState,
	runDemo,
} from "./demo-program.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);

/** Where there is a guard by default. */
const isGuarded = process.platform === "linux";
/** Metrics of what does not happen when a host is killed, and then one worker of another. */
const NOT_EXPECTED: readonly string[] = [
	...["snakepit.orphan.killed", "snakepit.orphan.last_seen"],
	"snakepit.telemetry.dropped",
	...(isGuarded
		? []
		: [
				"snakepit.protection.activations",
				"snakepit.protection.kills",
				"snakepit.protection.last_activation",
			]),
];

// What runs the demo, once or twice, is for `check`.
test.runIf(isThorough())(
	"a host that was killed, and the run after it: traces, metrics and events of both languages are received",
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const state = newState();
		const flags = ["--otlp", receiver.url];

		const killed = await runDemo(state, [...flags, "--kill-host"]);
		expect(killed.output).toContain("killed host");
		expect(goneAfterMs(killed.output)).toBeLessThan(10_000);
		await receiver.caughtUp();
		// It could not end anything, and what it had not sent is lost.
		const before = receiver.records.length;
		expect(receiver.records.map(({ eventName }) => eventName)).toContain(
			"snakepit.run.started",
		);
		expect(receiver.records.map(({ eventName }) => eventName)).not.toContain(
			"snakepit.run.ended",
		);

		receiver.spans.length = 0;
		receiver.points.length = 0;
		const { code, output, errors } = await runDemo(state, flags);
		expect(errors).toBe("");
		expect(output).toMatch(/^left +0 processes/m);
		expect(output.trimEnd()).toMatch(
			new RegExp(`\\ntelemetry +sent to ${receiver.url}$`),
		);
		expect(code).toBe(0);
		await receiver.caughtUp();
		const records = receiver.records.slice(before);

		// One call, in both processes.
		const calls = receiver.spans.filter(({ name }) => name === "call read");
		expect(calls).toHaveLength(1_797);
		const untroubled = calls.filter(({ events }) => events.length === 0);
		const trees = new Set(untroubled.map((call) => receiver.tree(call)));
		expect([...trees]).toContain(
			[
				"call read (@snakepit/telemetry)",
				"  queue (@snakepit/telemetry)",
				"  attempt read (@snakepit/telemetry)",
				"    read (snakepit_bridge)",
			].join("\n"),
		);
		const until = (name: string, isMeant = (_: ReceivedSpan) => true) =>
			receiver.until(name, isMeant);
		for (const [name, service] of [
			["call read", "snakepit-demo"],
			["read", "snakepit-demo-workers"],
		] as const)
			expect((await until(name)).resource).toMatchObject({
				"service.name": service,
				"service.namespace": "snakepit",
			});
		// Names of this machine, its users and its folders are not sent.
		for (const { resource } of receiver.spans)
			for (const name of Object.keys(resource ?? {}))
				expect(name).not.toMatch(/^(host|process\.(command|executable|owner))/);

		// The killed worker: its call, the restart, and the second attempt.
		const failed = await until(
			"attempt read",
			// On a busy machine the worker may not have begun the call when it is killed.
			({ attributes }) =>
				/^(WORKER_EXITED|CONNECTION_BROKEN)$/.test(
					String(attributes?.["error.type"]),
				),
		);
		// Then it is proven that the call did not begin: no call was lost, and nothing failed in the worker.
		const hadBegun = failed.attributes["error.type"] === "WORKER_EXITED";
		const retried = await until(
			"call read",
			({ spanId }) => spanId === failed.parentSpanId,
		);
		expect(retried).toMatchObject({
			events: ["retried"],
			attributes: { "snakepit.call.outcome": "succeeded" },
		});
		const second = await until(
			"attempt read",
			({ links }) => links?.[0]?.spanId === failed.spanId,
		);
		expect(second.parentSpanId).toBe(retried.spanId);
		expect(
			await until("read", ({ parentSpanId }) => parentSpanId === second.spanId),
		).toMatchObject({ traceId: retried.traceId });
		const lost = failed.attributes["snakepit.worker.incarnation"];
		const restart = await until(
			"worker start",
			({ attributes }) => attributes?.["snakepit.worker.replaces"] === lost,
		);
		if (hadBegun)
			expect(restart.links).toContainEqual({
				spanId: failed.spanId,
				attributes: { "snakepit.link": "failed attempt" },
			});
		expect(
			records.find(
				({ eventName, attributes }) =>
					eventName === "snakepit.worker.exited" &&
					attributes["snakepit.worker.incarnation"] === lost,
			),
		).toMatchObject({
			severity: "WARN",
			attributes: {
				"snakepit.worker.exit.signal": "SIGKILL",
				"snakepit.worker.end.reason": "exited",
				"snakepit.worker.calls_lost": hadBegun ? 1 : 0,
			},
		});

		// The clean-up after the host that was killed.
		expect(await until("cleanup")).toMatchObject({
			attributes: { "snakepit.cleanup.dead_runs": 1 },
		});

		// The metrics, at the end.
		expect(new Set(receiver.points.map(({ name }) => name))).toEqual(
			new Set(
				Object.keys(METRICS).filter((name) => !NOT_EXPECTED.includes(name)),
			),
		);
		const last = (metric: string, attribute: string, value: string) =>
			receiver.points.findLast(
				({ name, attributes }) =>
					name === metric && attributes[attribute] === value,
			)?.value;
		expect(
			last("snakepit.worker.restarts", "snakepit.worker.end.reason", "exited"),
		).toBe(1);
		expect(
			last(
				"snakepit.protection.activations",
				"snakepit.protection.name",
				"guard",
			),
		).toBe(isGuarded ? 1 : undefined);
	},
	2 * FIRST_RUN_MS,
);

test.runIf(isThorough())(
	"what happens after Ctrl-C is exported before the program ends",
	async () => {
		const receiver = await Receiver.start(PYTHON);
		const { signal, output, errors } = await runDemo(
			newState(),
			["--otlp", receiver.url],
			(printed, child) => {
				if (printed.includes(" 20 %") && !child.killed) child.kill("SIGINT");
			},
		);
		expect(errors).toBe("");
		expect(output).toContain("SIGINT: ending the workers\n");
		expect(signal).toBe("SIGINT");
		await receiver.caughtUp();
		const received = receiver.records.map(({ eventName }) => eventName);
		expect(received).toContain("snakepit.host.signal_received");
		const workers = (event: string) =>
			receiver.records
				.filter(({ eventName }) => eventName === event)
				.map(({ attributes }) => attributes["snakepit.worker.incarnation"]);
		const ready = workers("snakepit.worker.ready");
		expect(ready.length).toBeGreaterThanOrEqual(4);
		expect(workers("snakepit.worker.exited")).toEqual(
			expect.arrayContaining(ready),
		);
		expect(received).toContain("snakepit.run.ended");
	},
	FIRST_RUN_MS,
);
