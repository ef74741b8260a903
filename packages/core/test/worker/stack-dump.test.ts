import { expect, test } from "vitest";
import type { ProcessHost } from "../../src/contract/world.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { WorkerResources } from "../../src/worker/worker.ts";
import { dumpUnreadyStacks } from "../../src/worker/worker-output.ts";

type Asked = Parameters<typeof dumpUnreadyStacks>[0];
type Outcome = ReturnType<WorkerResources["process"]["signal"]>;

/** Asks a program that never ends; returns what was sent, and how long that took. */
async function ask(
	handles: ReturnType<ProcessHost["handles"]>,
	outcome: Outcome = "sent",
): Promise<{ readonly sent: readonly string[]; readonly tookMs: number }> {
	const clock = new VirtualClock();
	const sent: string[] = [];
	const process = {
		exited: new Promise(() => undefined),
		signal: (signal: string): Outcome => {
			sent.push(signal);
			return outcome;
		},
	};
	const resources = { process, output: { expectStacks: () => undefined } };
	await clock.advanceUntil(
		dumpUnreadyStacks(
			{ ...resources, dumpSignal: "SIGQUIT" } as unknown as Asked,
			{ clock, host: { handles: () => handles } },
		),
	);
	return { sent, tookMs: clock.now() };
}

test("a program that handles the signal is sent it, and has time to write", async () => {
	expect(await ask("yes")).toEqual({ sent: ["SIGQUIT"], tookMs: 250 });
});

test.each(["no", "unknown"] as const)(
	"where the system answers %s to whether a program handles it, it is not sent",
	async (handles) => {
		expect(await ask(handles)).toEqual({ sent: [], tookMs: 0 });
	},
);

test("the stacks of a program that was not reached are not awaited", async () => {
	expect(await ask("yes", "gone")).toMatchObject({ tookMs: 0 });
});
