import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { startHost, untilNothingIsLeft } from "./host-process.ts";

const program = new URL("./ending-host.ts", import.meta.url);
/** The kernel needs milliseconds, on a busy machine more. */
const SOON_MS = 5_000;

// Each way in which a program ends has its test with other workers in packages/core/test/run: these depend on workers.
test.each([
	["exits with a stray", undefined, { code: 7, signal: null }],
	["awaits a call", "SIGTERM", { code: null, signal: "SIGTERM" }],
	["closes its pool", "SIGTERM", { code: 0, signal: null }],
] as const)(
	"a program that %s (%s) ends as it should, and leaves nothing",
	{ timeout: 120_000 },
	async (ending, signal, end) => {
		const host = startHost(program, { dataDir: temporaryDirectory(), ending });
		const ended = new Promise((resolve) =>
			host.child.once("exit", (code, signal) => resolve({ code, signal })),
		);
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		if (signal !== undefined) host.child.kill(signal);
		// Its pool still takes calls after the signal.
		if (ending === "closes its pool")
			expect(await host.reported("answer")).toEqual(expect.any(Number));
		expect(await ended).toEqual(end);
		await untilNothingIsLeft(runId, SOON_MS);
		expect(host.all("ended")).toEqual([true]);
	},
);
