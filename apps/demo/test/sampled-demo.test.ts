import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	type ReceivedSpan,
	Receiver,
} from "../../../packages/telemetry/test/e2e/receiver.ts";
import { FIRST_RUN_MS, newState, runDemo } from "./demo-program.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);

test(
	"both languages export the sampled calls and no others, and all calls are measured",
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
		// About 180; none or all of them is as good as impossible.
		expect(calls.length).toBeGreaterThan(0);
		expect(calls.length).toBeLessThan(1_797);

		// What the killed worker had not sent, a quarter of a second, is lost.
		const killed = receiver.records.find(
			({ attributes }) =>
				attributes["snakepit.worker.exit.signal"] === "SIGKILL",
		)?.attributes["snakepit.worker.incarnation"];
		expect(killed).toBeDefined();
		const received = tracesOf("read");
		expect(calls).toEqual(expect.arrayContaining(received));
		expect(received).toEqual(
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
