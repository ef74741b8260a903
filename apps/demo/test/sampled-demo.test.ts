import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	type ReceivedSpan,
	Receiver,
} from "../../../packages/telemetry/test/e2e/receiver.ts";
import { rows } from "../../../scripts/test-effort.ts";
import {
	EXPORTS,
	FIRST_RUN_MS,
	newState,
	runDemo,
	runProgram,
} from "./demo-program.ts";

const PYTHON = fileURLToPath(
	new URL("../../../python/.venv/bin/python", import.meta.url),
);

test.each(
	rows(
		[
			{
				what: "fifty calls",
				run: (url: string) => runProgram(EXPORTS, newState(), [url, PYTHON]),
				command: "add",
				total: 50,
				ratio: "0.5",
				killedWorkers: 0,
				answered: /^answered 50 calls$/m,
			},
			{
				what: "the demo",
				run: (url: string) => runDemo(newState(), ["--otlp", url]),
				command: "read",
				total: 1_797,
				ratio: "0.1",
				killedWorkers: 1,
				answered: /^answered +1,797 of 1,797 images exactly once$/m,
			},
		],
		({ what }) => what === "fifty calls",
	),
)(
	"of $what both languages export the sampled calls and no others, and all calls are measured",
	async ({ run, command, total, ratio, killedWorkers, answered }) => {
		vi.stubEnv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
		vi.stubEnv("OTEL_TRACES_SAMPLER_ARG", ratio);
		onTestFinished(() => void vi.unstubAllEnvs());
		const receiver = await Receiver.start(PYTHON);
		const { code, output } = await run(receiver.url);
		expect(output).toMatch(answered);
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
		const calls = tracesOf(`call ${command}`);
		// None or all of them is as good as impossible.
		expect(calls.length).toBeGreaterThan(0);
		expect(calls.length).toBeLessThan(total);

		// What the killed worker had not sent, a quarter of a second, is lost.
		const killed = receiver.records
			.filter(
				({ attributes }) =>
					attributes["snakepit.worker.exit.signal"] === "SIGKILL",
			)
			.map(({ attributes }) => attributes["snakepit.worker.incarnation"]);
		expect(killed).toHaveLength(killedWorkers);
		const received = tracesOf(command);
		expect(calls).toEqual(expect.arrayContaining(received));
		expect(received).toEqual(
			expect.arrayContaining(
				tracesOf(
					"attempt",
					({ traceId, attributes }) =>
						calls.includes(traceId) &&
						!killed.includes(attributes["snakepit.worker.incarnation"]),
				),
			),
		);

		expect(
			receiver.points.findLast(
				({ name, attributes }) =>
					name === "snakepit.call.duration" &&
					attributes["snakepit.command"] === command,
			)?.value,
		).toBe(total);
	},
	FIRST_RUN_MS,
);
