import { NdArray } from "@snakepit/adapter-python";
import { expect, test } from "vitest";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import { rayPool, START_MS } from "./ray-pool.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function* numbers(): AsyncGenerator<number> {
	for (const each of [1, 2, 3]) yield each;
}

test.skipIf(!hasClusterInCheck)(
	`streams both ways, back-calls, sessions, records, traces and 32 MB cross to a node and back${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const asked: unknown[] = [];
		const { pool, events } = await rayPool(
			await sharedCluster(),
			toolsFile("bench.py"),
			{ size: { min: 1, max: 1 } },
			{
				hostFunctions: {
					// Called by the tool, on another machine.
					price: (argument: unknown) => {
						asked.push(argument);
						return { cents: 42 };
					},
				},
			},
		);
		expect(
			await pool.execute("ask", { function: "price", argument: "tea" }),
		).toEqual({ cents: 42 });
		expect(asked).toEqual(["tea"]);
		expect(await pool.execute("collect", {}, { input: numbers() })).toEqual([
			1, 2, 3,
		]);
		expect(
			await Array.fromAsync(pool.stream("doubled", {}, { input: numbers() })),
		).toEqual([2, 4, 6]);
		expect(
			await Array.fromAsync(pool.stream("count", { below: 1_000 })),
		).toEqual(Array.from({ length: 1_000 }, (_, at) => at));

		const session = pool.session({ affinity: "strict" });
		await session.execute("remember", { word: "near" });
		expect(await session.execute("remember", { word: "far" })).toEqual([
			"near",
			"far",
		]);
		expect(
			JSON.stringify(
				await pool.execute(
					"trace_context",
					{},
					{ traceContext: { traceparent: TRACEPARENT } },
				),
			),
		).toContain(TRACEPARENT);
		const logged = events.waitFor("worker.logged", () => true, 30_000);
		await pool.execute("log_something");
		await logged;

		const data = new Float64Array(4 * 1024 * 1024).map((_, at) => at / 7);
		const array = new NdArray("float64", [1024, 4096], data);
		const back = (await pool.execute("echo", { value: array })) as NdArray;
		expect(back.shape).toEqual([1024, 4096]);
		// Element by element, `toEqual` takes minutes.
		const bytes = ({ data }: NdArray): Buffer => {
			const { buffer, byteOffset, byteLength } = data as Float64Array;
			return Buffer.from(buffer, byteOffset, byteLength);
		};
		expect(bytes(back).equals(bytes(array))).toBe(true);
	},
);
