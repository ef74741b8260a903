/** A program with a pool of one worker that ends in a way of its own; see signals.test.ts. */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { testMark } from "../../../../scripts/test-mark.ts";
import { openRun } from "../../src/run/open-run.ts";

const [dataDir, habit = "sleeps.sh", ending = "wait"] = process.argv.slice(2);
if (ending === "listened_once_before")
	process.once("SIGTERM", () =>
		console.log(JSON.stringify({ listened: true })),
	);
const run = await openRun({
	dataDir,
	onSignal: ending === "decides itself" ? "ignore" : "end",
	// A test that waits for its end waits a second; the others must not see it.
	signalGraceMs:
		ending.startsWith("exits") || ending === "listens_long" ? 600_000 : 1_000,
	onEvent: ({ type, ...rest }) => {
		if (type === "host.signal_received")
			console.log(JSON.stringify({ type, ...rest }));
		if (type === "host.grace_spent")
			console.log(
				JSON.stringify({ type, ...rest, alive: process.kill(pid, 0) }),
			);
		// What follows a close follows in the same turn.
		if (type === "run.ended")
			setImmediate(() => console.log(JSON.stringify({ lives: true })));
	},
});
const pool = await run.createPool({
	adapter: {
		name: "habit",
		launch: () => ({
			executable: join(import.meta.dirname, "../bestiary", habit),
			args: [],
			env: testMark(),
			stdio: "adapter",
		}),
		connect: async ({ stdout }) => {
			await new Promise((resolve) => stdout?.once("data", resolve));
			return {
				execute: async () => undefined,
				[Symbol.asyncDispose]: async () => {},
			};
		},
	},
	size: 1,
	heartbeat: "off",
});
const pid = pool.workers()[0]?.pid ?? 0;
const holdOpen = setInterval(() => {}, 2 ** 30);

const listened = (): void => console.log(JSON.stringify({ listened: true }));
/** Listens as a library does that sends what it has and leaves the rest to others. */
async function shutDown(): Promise<void> {
	await new Promise((resolve) => setImmediate(resolve));
	listened();
}
if (ending === "listens" || ending === "listens_long")
	for (const signal of ["SIGTERM", "SIGINT"] as const)
		process.on(signal, listened);
if (ending === "listens_once") process.once("SIGTERM", listened);
if (ending === "shuts_an_sdk_down") process.on("SIGTERM", shutDown);
if (ending === "decides itself") process.on("SIGTERM", listened);
if (ending === "reads_its_configuration") process.on("SIGHUP", listened);
if (ending === "exits_when_told") process.on("SIGTERM", () => process.exit(5));
if (ending === "exits_when_told_twice") {
	let times = 0;
	for (const signal of ["SIGTERM", "SIGINT"] as const)
		process.on(signal, () => {
			times += 1;
			listened();
			if (times === 2) process.exit(6);
		});
}
if (ending === "defers") {
	// As signal-exit does: a listener that sends the signal again where it is alone with its like.
	const emitter = { count: 1 };
	Object.assign(globalThis, { [Symbol.for("signal-exit emitter")]: emitter });
	const deferring = (): void => {
		if (process.listenerCount("SIGTERM") !== emitter.count) return;
		process.off("SIGTERM", deferring);
		writeSync(1, `${JSON.stringify({ hooks: "run" })}\n`);
		process.kill(process.pid, "SIGTERM");
	};
	process.on("SIGTERM", deferring);
}

console.log(JSON.stringify({ pid }));
switch (ending) {
	case "exits":
		process.exit(7);
		break;
	case "throws":
		setImmediate(() => {
			throw new Error("uncaught");
		});
		break;
	case "idles":
		clearInterval(holdOpen);
		break;
}
