import { expect, test } from "vitest";
import {
	freshDirectory,
	marked,
	startHost,
	untilNothingIsLeft,
} from "./host-process.ts";

const program = new URL("./host.ts", import.meta.url);
const SIZE = 2;
const DEADLINE_MS = 60_000;

/** A host each of whose workers has a process outside of its group. */
async function hostOfStrays(dataDir: string, guard?: "off") {
	const host = startHost(program, {
		...{ dataDir, guard },
		size: SIZE,
		first: "with_a_stray",
	});
	const runId = (await host.reported("runId")) as string;
	const workers = (await host.reported("ready")) as readonly number[];
	const outside = marked(runId).filter(
		(pid) => ![...workers, ...host.all("preloaded")].includes(pid),
	);
	expect(outside).toHaveLength(SIZE);
	return { host, runId, outside };
}

test.runIf(process.platform === "linux")(
	"by default a process that left its worker's group is gone after kill -9 of the host",
	{ timeout: 180_000 },
	async () => {
		const { host, runId } = await hostOfStrays(freshDirectory());
		await host.kill();
		await untilNothingIsLeft(runId, DEADLINE_MS);
	},
);

test("without a guard it outlives the host, and the next start ends it", {
	timeout: 180_000,
}, async () => {
	const dataDir = freshDirectory();
	const { host, runId, outside } = await hostOfStrays(dataDir, "off");

	await host.kill();
	await untilOnly(runId, outside);

	const next = startHost(program, { dataDir, size: 1 });
	await next.reported("ready");
	await untilNothingIsLeft(runId, DEADLINE_MS);
	expect([...next.all("reaped")].sort()).toEqual([...outside].sort());
});

/** Waits until the workers are gone; fails if one of `pids` goes with them. */
async function untilOnly(
	runId: string,
	pids: readonly number[],
): Promise<void> {
	const begun = performance.now();
	for (;;) {
		const left = marked(runId);
		expect(left).toEqual(expect.arrayContaining([...pids]));
		if (left.length === pids.length) return;
		expect(performance.now() - begun).toBeLessThan(DEADLINE_MS);
		await new Promise((resolve) => setImmediate(resolve));
	}
}
