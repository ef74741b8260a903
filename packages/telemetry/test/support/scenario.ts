import { ToolError } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { type ScriptedCall, scripts } from "@snakepit/core/testing";
import { virtualPoolBench } from "../../../core/src/testing/virtual-pool.ts";
import { RARE_EVENTS } from "./rare-events.ts";

/** A life of a pool in which everything happens that can be exported. `collect` is called where the pool is in the middle of it. */
export async function everything(
	instrument: Instrument,
	collect: () => Promise<void>,
): Promise<void> {
	// What a run, a ledger and protections tell: a pool in memory has none.
	const rare = instrument.attach({
		name: "rare",
		adapter: "scripted",
		report: () => {},
	});
	for (const event of RARE_EVENTS) rare.hear(event);
	rare.detach?.();

	let crashes = 1;
	let answers = 3;
	const { pool, clock, close, adapter } = await virtualPoolBench(
		{
			commands: {
				...scripts,
				sometimes: (call) =>
					crashes-- > 0 ? scripts.crash(call) : scripts.echo(call),
				toolFails: () => {
					throw new ToolError({
						ran: "maybe",
						message: "it failed",
						remote: {
							type: "ValueError",
							message: "it failed",
							traceback: "Traceback",
						},
					});
				},
				ask: ({ backCall }: ScriptedCall) =>
					backCall?.({ function: "f", traceContext: {} }, async () => {
						throw new RangeError("no");
					}),
			},
			ping: () =>
				answers-- > 0 ? { callsRunning: 0 } : new Promise(() => undefined),
			boot: (process, attempt) => {
				process.write("hello");
				if (attempt === 2) process.exit(3);
			},
		},
		{
			instruments: [instrument],
			heartbeat: {
				intervalMs: 1_000,
				hungAfterMs: 3_000,
			},
			queue: { limit: 2 },
			observe: { args: (_command, args) => args },
			onEvent: (event) => {
				if (event.type === "session.started") throw new Error("a listener");
			},
		},
	);
	const settle = (promise: Promise<unknown>): Promise<unknown> =>
		promise.catch(() => undefined);

	const calls = [
		pool.execute("echo", 1),
		pool.execute("toolFails"),
		pool.execute("ask"),
		pool.execute("x".repeat(200)),
	].map(settle);
	await clock.advance(100);
	await Promise.all(calls);

	const session = pool.session({ id: "s" });
	await session.execute("echo", 1);
	session.close();

	const late = [
		pool.execute("hang", 1, { timeoutMs: 50 }),
		pool.execute("echo", 1, { queueTimeoutMs: 10 }),
	].map(settle);
	await clock.advance(100);
	await Promise.all(late);
	adapter.workers[0]?.log("careful", {
		callId: "c1",
		traceback: "Traceback",
		traceId: "0af7651916cd43dd8448eb211c80319c",
		spanId: "b7ad6b7169203331",
	});

	const retried = settle(
		pool.execute("sometimes", 1, { retry: { attempts: 2 } }),
	);
	await clock.advance(5_000);
	await retried;
	const running = settle(pool.execute("hang", 1, { timeoutMs: 1_000 }));
	await clock.advance(10);
	await collect();

	// It answers no ping any more: it is hung, and replaced.
	await clock.advance(5_000);
	await running;
	answers = Number.POSITIVE_INFINITY;
	await clock.advance(20_000);

	pool.pause();
	pool.resume();
	pool.resize({ min: 1, max: 2 });
	const replaced = [pool.recycle("scripted-0"), pool.restart("scripted-0")].map(
		settle,
	);
	await clock.advance(20_000);
	await Promise.all(replaced);
	await close();
}
