import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { jsonRpc } from "@snakepit/adapter-stdio";
import { createPool } from "@snakepit/core";
import { afterEach, expect, onTestFinished, test } from "vitest";
import {
	dataDirectory,
	temporaryDirectory,
} from "../../../../scripts/test-data-directory.ts";
import { telemetry } from "../../src/index.ts";
import { PYTHON } from "../e2e/receiver.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";

afterEach(unregister);

/** Code of the program that a worker has run makes spans: in the trace of its call, where it belongs to one. */
class OwnCode {
	readonly sdk: MemorySdk = new MemorySdk().register();
	readonly #tracer = trace.getTracer("program");

	runs(what: string): void {
		this.#tracer.startSpan(what).end();
	}

	async within<T>(name: string, run: () => Promise<T>): Promise<T> {
		return await this.#tracer.startActiveSpan(name, async (span) => {
			try {
				return await run();
			} finally {
				span.end();
			}
		});
	}

	/** The names of its spans in the trace of one. */
	async traceOf(name: string): Promise<readonly string[]> {
		const { traceId } = (await this.sdk.span(name)).spanContext();
		return (await this.sdk.spans())
			.filter((span) => span.instrumentationScope.name === "program")
			.filter((span) => span.spanContext().traceId === traceId)
			.map((span) => span.name);
	}
}

test.each(["framed", "grpc"] as const)(
	"%s: code of the program that a worker's connection sets off has its spans, those of a call in its trace",
	{ timeout: 90_000 },
	async (transport) => {
		const code = new OwnCode();
		const directory = temporaryDirectory();
		await writeFile(join(directory, "edited.py"), "");
		let began = Promise.withResolvers<void>();
		const aborted = (signal: AbortSignal) =>
			new Promise<void>((resolve) => {
				signal.addEventListener("abort", () => {
					code.runs("host function dropped");
					resolve();
				});
				began.resolve();
			});
		const pool = await createPool({
			adapter: pythonGrpc({
				tools: join(import.meta.dirname, "own_code_tools.py"),
				hostFunctions: {
					wait: async (_, { signal }) => await aborted(signal),
					running: async () => await began.promise,
				},
				python: PYTHON,
				watch: true,
				transport,
			}),
			dataDir: dataDirectory(),
			size: 1,
			output: { echo: "none" },
			instruments: [telemetry()],
			onEvent: ({ type }) => code.runs(type),
		});
		onTestFinished(() => pool.close());
		for (const tool of ["impatient", "hasty"]) {
			began = Promise.withResolvers();
			await code.within(tool, () => pool.execute(tool));
			expect(await code.traceOf(tool)).toContain("host function dropped");
		}

		async function* numbers() {
			try {
				for (;;) yield 1;
			} finally {
				code.runs("input closed");
			}
		}
		await code.within("first", () =>
			pool.execute("first", undefined, {
				input: numbers(),
				onProgress: () => code.runs("progress"),
			}),
		);
		expect(await code.traceOf("first")).toEqual(
			expect.arrayContaining(["input closed", "progress"]),
		);

		const reloaded = Promise.withResolvers<void>();
		pool.on("pool.reloaded", () => {
			code.runs("listener of one type");
			reloaded.resolve();
		});
		const before = (await code.sdk.spans()).length;
		await pool.execute("edit", { directory });
		await reloaded.promise;
		await pool.execute("log");
		await pool.close();
		const names = (await code.sdk.spans())
			.slice(before)
			.filter((span) => span.instrumentationScope.name === "program")
			.map((span) => span.name);
		expect(names).toEqual(
			expect.arrayContaining([
				...["worker.starting", "worker.spawned", "worker.ready"],
				...["pool.reloaded", "listener of one type", "worker.logged"],
				...["worker.retiring", "worker.exited", "call.settled"],
			]),
		);
	},
);

test("functions of the program that a program on standard input and output sets off have their spans", async () => {
	const code = new OwnCode();
	const began = Promise.withResolvers<void>();
	const pool = await createPool({
		adapter: jsonRpc({
			command: [
				process.execPath,
				join(import.meta.dirname, "asking-program.mjs"),
			],
			ready: async () => {
				code.runs("ready");
				return {};
			},
			handlers: {
				wait: async (_, { signal }) => {
					const aborted = Promise.withResolvers<void>();
					signal.addEventListener("abort", () => {
						code.runs("handler aborted");
						aborted.resolve();
					});
					began.resolve();
					await aborted.promise;
				},
			},
		}),
		dataDir: dataDirectory(),
		size: 1,
		output: { echo: "none" },
		instruments: [telemetry()],
	});
	onTestFinished(() => pool.close());
	await pool.execute("ask");
	await began.promise;
	await pool.close();
	const names = (await code.sdk.spans()).map((span) => span.name);
	expect(names).toEqual(expect.arrayContaining(["ready", "handler aborted"]));
});
