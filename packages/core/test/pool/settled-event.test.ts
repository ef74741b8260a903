import { expect, test } from "vitest";
import { scripts } from "../../src/testing.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	fail: scripts.fail,
	crash: scripts.crash,
};

test("call.settled has the code and the message of the error and whether the call ran, and no arguments", async () => {
	const { pool, clock, events, close } = await virtualPool({ commands });
	const ok = pool.execute("echo", { password: "secret" });
	const failed = outcome(pool.execute("fail", "no paper"));
	const lost = outcome(pool.execute("crash"));
	await clock.advance(1_000);
	await Promise.all([ok, failed, lost]);
	expect(events.of("call.settled")).toMatchObject([
		{
			outcome: "succeeded",
			code: undefined,
			message: undefined,
			ran: undefined,
			remote: undefined,
		},
		{
			code: "TOOL_FAILED",
			message: expect.stringContaining("no paper"),
			ran: "maybe",
			remote: { message: expect.stringContaining("no paper") },
		},
		{
			code: "WORKER_EXITED",
			message: expect.stringContaining("while it ran this call"),
			ran: "maybe",
		},
	]);
	expect(events.of("call.settled").map(({ args }) => args)).toEqual([
		undefined,
		undefined,
		undefined,
	]);
	await close();
});

test("observe.args says what is shown of the arguments; one that throws shows nothing and hurts nothing", async () => {
	const { pool, clock, events, close } = await virtualPool(
		{ commands },
		{
			observe: {
				args: (command, args) => {
					if (args === "poison") throw new Error("no");
					return { command, has: typeof args };
				},
			},
		},
	);
	const calls = [pool.execute("echo", 7), pool.execute("echo", "poison")];
	await clock.advance(10);
	expect(await Promise.all(calls)).toEqual([7, "poison"]);
	expect(events.of("call.settled").map(({ args }) => args)).toEqual([
		{ command: "echo", has: "number" },
		undefined,
	]);
	expect(events.of("listener.threw")).toMatchObject([{ of: "observe.args" }]);
	await close();
});

test("observe takes a function, and nothing else", async () => {
	for (const observe of [{ args: "all" }, { arguments: () => 1 }, 7])
		await expect(
			virtualPool({ commands }, { observe: observe as object }),
		).rejects.toMatchObject({ name: "OptionsError" });
});
