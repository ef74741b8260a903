import { ControlError, type FoundRun, type RunUpdate } from "@snakepit/control";
import { expect, test } from "vitest";
import { followRun, type PageUpdate } from "../../src/dash/run-routes.ts";

const run = { runId: "abcdefg", program: "demo.ts", pid: 7 } as FoundRun;
const lost: RunUpdate = { kind: "lost", records: 1 };

/** Follows a client of which each stream is one of these: updates, and the error at its end. */
async function followed(
	...streams: readonly (readonly (RunUpdate | string)[])[]
): Promise<{ updates: PageUpdate[]; pauses: number[] }> {
	const left = [...streams];
	const client = {
		run,
		async *events() {
			for (const each of left.shift() ?? ["HOST_GONE"]) {
				if (typeof each === "string")
					throw new ControlError({ code: each, message: `It is ${each}.` });
				yield each;
			}
		},
	};
	const pauses: number[] = [];
	const pause = async (ms: number) => void pauses.push(ms);
	const updates: PageUpdate[] = [];
	for await (const update of followRun(
		client,
		new AbortController().signal,
		pause,
	))
		updates.push(update);
	return { updates, pauses };
}

test("a closed run and a killed one are distinguished", async () => {
	expect((await followed([lost])).updates).toEqual([
		lost,
		{
			kind: "gone",
			how: "closed",
			message: "demo.ts (pid 7) closed its run abcdefg.",
		},
	]);
	const { updates } = await followed([lost, "HOST_GONE"]);
	expect(updates[1]).toMatchObject({ kind: "gone", how: "killed" });
});

test("what the program refuses is the last update", async () => {
	expect((await followed(["TOO_MANY_STREAMS"])).updates).toEqual([
		{ kind: "gone", how: "refused", message: "It is TOO_MANY_STREAMS." },
	]);
});

test("a silent program is asked again, less and less often, and from the start after an answer", async () => {
	const silent = ["HOST_SILENT"];
	const { updates, pauses } = await followed(
		...Array(7).fill(silent),
		[lost, "HOST_SILENT"],
		["HOST_GONE"],
	);
	expect(pauses).toEqual([
		500, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000, 500,
	]);
	expect(updates.map(({ kind }) => kind)).toEqual([
		...Array(7).fill("silent"),
		...["lost", "silent", "gone"],
	]);
});
