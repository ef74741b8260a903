import { NdArray } from "@snakepit/adapter-python";
import { expect, test } from "vitest";
import {
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { rayPool, START_MS, toolsOf } from "./ray-pool.ts";

const TOOLS = `
from collections.abc import Iterator

import numpy as np
from snakepit_bridge import tool

KEPT = []

@tool
def echo(value: object) -> object:
    return value

@tool
def is_mapped(value: np.ndarray) -> bool:
    with open("/proc/self/maps") as maps:
        return "/dev/shm/snakepit-" in maps.read()

@tool
def keep(value: np.ndarray) -> None:
    KEPT.append(value)

@tool
def kept() -> list[float]:
    return [float(value.min()) for value in KEPT] + [float(value.max()) for value in KEPT]

@tool
def produce(count: int, length: int) -> Iterator[np.ndarray]:
    for number in range(count):
        yield np.full(length, number)
`;

const LENGTH = 50_000;

function filled(number: number): NdArray {
	const data = new Float64Array(LENGTH).fill(number);
	return new NdArray("float64", [LENGTH], data);
}

test.skipIf(!hasClusterInCheck)(
	`large values are in shared memory on the node, and stay what they are${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { pool } = await rayPool(
			cluster,
			toolsOf(cluster, TOOLS),
			{},
			{ maxMessageBytes: 1024 * 1024 },
		);
		expect(await pool.execute("is_mapped", [filled(1)])).toBe(true);
		await pool.execute("keep", [filled(1)]);
		await pool.execute("keep", [filled(2)]);
		for (const number of [3, 4, 5]) {
			const sent = filled(number);
			const echo = pool.execute("echo", [sent]);
			// It was copied when it was sent.
			sent.data.fill(0 as never);
			const { data } = (await echo) as NdArray;
			expect([data.length, data.at(0), data.at(-1)]).toEqual([
				LENGTH,
				number,
				number,
			]);
		}
		// What tools keep is never written over.
		expect(await pool.execute("kept")).toEqual([1, 2, 1, 2]);

		let next = 0;
		for await (const chunk of pool.stream("produce", [40, LENGTH]))
			expect((chunk as NdArray).data.at(-1)).toBe(BigInt(next++));
		expect(next).toBe(40);
		for await (const _ of pool.stream("produce", [40, LENGTH])) break;
		expect(
			((await pool.execute("echo", [filled(6)])) as NdArray).data.at(-1),
		).toBe(6);

		await expect(
			pool.execute("echo", [new Uint8Array(2 * 1024 * 1024)]),
		).rejects.toMatchObject({ code: "MESSAGE_TOO_LARGE" });
	},
);
