import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	type ReceivedSpan,
	Receiver,
} from "../../../../packages/telemetry/test/e2e/receiver.ts";
import { FIRST_RUN_MS, runDemo } from "../demo-program.ts";
import { newState } from "../new-state.ts";

const PYTHON = fileURLToPath(
	new URL("../../../../python/.venv/bin/python", import.meta.url),
);

test(
	"of calls that are sampled both languages tell, of others neither, and all are measured",
	async () => {
		vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
		vi.stubEnv("OTEL_TRACES_SAMPLER_ARG", "0.1");
		onTestFinished(() => void vi.unstubAllEnvs());
		const receiver = await Receiver.start(PYTHON);
		const { code, output } = await runDemo(newState(), [
			"--otlp",
			receiver.url,
		]);
		expect(output).toMatch(/^answered +1,797 of 1,797 images exactly once$/m);
		expect(output).toMatch(/^telemetry +sent /m);
		expect(code).toBe(0);
		await receiver.caughtUp();

		const tracesOf = (
			wanted: string,
			isMeant = (_: ReceivedSpan) => true,
		): string[] =>
			receiver.spans
				.filter((span) => span.name === wanted && isMeant(span))
				.map(({ traceId }) => traceId);
		const calls = tracesOf("call read");
		// About 180: that it is none of them, or all, happens in no lifetime.
		expect(calls.length).toBeGreaterThan(0);
		expect(calls.length).toBeLessThan(1_797);

		// The killed worker's last quarter of a second went with it.
		const killed = receiver.records.find(
			({ attributes }) =>
				attributes["snakepit.worker.exit.signal"] === "SIGKILL",
		)?.attributes["snakepit.worker.incarnation"];
		expect(killed).toBeDefined();
		const told = tracesOf("read");
		expect(calls).toEqual(expect.arrayContaining(told));
		expect(told).toEqual(
			expect.arrayContaining(
				tracesOf(
					"attempt",
					({ traceId, attributes }) =>
						calls.includes(traceId) &&
						attributes["snakepit.worker.incarnation"] !== killed,
				),
			),
		);

		expect(
			receiver.points.findLast(
				({ name, attributes }) =>
					name === "snakepit.call.duration" &&
					attributes["snakepit.command"] === "read",
			)?.value,
		).toBe(1_797);
	},
	FIRST_RUN_MS,
);
