import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { describeLoss } from "../../src/guard/guard-chain.ts";
import { openGuard } from "../../src/guard/open-guard.ts";
import { openRun } from "../../src/index.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { PLAIN } from "./bench.ts";

/** A run of a machine whose native binary is this one. */
function contextWith(binary: string | undefined) {
	const { clock, host, registry, random, events } = virtualWorld();
	const context = {
		...{ runId: registry.runId, clock, random, marker: "marker" },
		host: Object.assign(Object.create(host), { nativeBinary: () => binary }),
		...{ dataDir: "/data", runDirectory: temporaryDirectory() },
		living: () => registry.living(),
		emit: events.record,
	};
	return { context, events };
}

test.runIf(process.platform === "linux")(
	"where its program is missing a run has no guard and says so; one that requires it does not open",
	async () => {
		const { context, events } = contextWith(undefined);
		expect(await openGuard("auto", context)).toBeUndefined();
		expect(events.of("protection.unavailable")).toMatchObject([
			{ protection: "guard", reason: expect.stringMatching(/npm install/) },
		]);
		await expect(openGuard("required", context)).rejects.toMatchObject({
			...{ name: "StartError", code: "PROTECTION_UNAVAILABLE", ran: "no" },
			message: expect.stringMatching(/guard: "required".*npm install/),
		});
	},
);

test.runIf(process.platform === "linux")(
	"a guard that cannot be started is said, and does not keep a run from opening; one that requires it does not open",
	async () => {
		const { context, events } = contextWith("/nowhere/snakepit-native");
		const guard = await openGuard("auto", context);
		expect(guard?.name).toBe("guard");
		expect(events.of("protection.unavailable")).toMatchObject([
			{
				protection: "guard",
				reason: expect.stringMatching(/ENOENT.*workers start without a guard/),
			},
		]);
		await guard?.release();
		await expect(openGuard("required", context)).rejects.toMatchObject({
			code: "PROTECTION_UNAVAILABLE",
			message: expect.stringContaining("ENOENT"),
		});
	},
);

test.runIf(process.platform === "linux")(
	"a program that asks for what a guard cannot give is started without it",
	async () => {
		const run = await openRun({ dataDir: temporaryDirectory() });
		onTestFinished(() => run.close());
		const { source } = run.infrastructure;
		const program = { ...PLAIN, executable: "sh" };
		const eighth = await source.start(
			{
				...program,
				args: ["-c", "echo there and back >&8"],
				descriptors: new Map([[8, "stream" as const]]),
			},
			() => {},
		);
		const stream = eighth.streams.get(8);
		expect(stream === undefined ? "" : await text(stream)).toBe(
			"there and back\n",
		);
		const third = await source.start(
			{
				...program,
				args: ["-c", "true"],
				descriptors: new Map([[3, "stream" as const]]),
			},
			() => {},
		);
		expect([eighth.source, third.source]).toEqual(["node", "guard"]);
	},
);

test.each([
	[65, "one of its inner processes failed, or did not answer in time"],
	[
		67,
		"its inner process, which forks the workers, was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	],
	[
		68,
		"its middle process was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	],
	[70, "its outer process failed"],
	[3, "its outer process ended with status 3"],
])("status %i of the outer guard says what was lost", (code, text) => {
	expect(describeLoss({ kind: "code", code })).toBe(text);
});

test("the report of a guard that a signal ended names the signal and its possible senders", () => {
	expect(describeLoss({ kind: "signal", signal: "SIGKILL" })).toBe(
		"its outer process was killed by SIGKILL from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	);
});
