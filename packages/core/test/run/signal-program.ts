/** A program with a run and a worker that ends in a way of its own; see signals.test.ts. */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { testMark } from "../../../../scripts/test-mark.ts";
import { acquireRun } from "../../src/run/acquire-run.ts";
import { applicationCleanup } from "../../src/run/application-cleanup.ts";

const [dataDir, habit = "sleeps.sh", ending = "wait"] = process.argv.slice(2);
if (ending === "listened_once_before")
	process.once("SIGTERM", () =>
		console.log(JSON.stringify({ listened: true })),
	);
/** Whether the worker is there now. */
const isAlive = (): boolean => process.kill(worker.identity.pid, 0);
const run = await acquireRun({
	dataDir,
	strategy: undefined,
	emit: ({ type, ...rest }) => {
		if (type === "host.signal_received")
			console.log(JSON.stringify({ type, ...rest }));
		if (type === "host.grace_spent")
			console.log(JSON.stringify({ type, ...rest, alive: isAlive() }));
	},
});
const { registry, host } = run;
const letGo = host.keepAlive();
const incarnation = registry.nextIncarnation();
registry.reserve({
	incarnation,
	workerId: "w-0",
	pool: "w",
	fingerprint: "x",
	files: [],
});
const worker = await host.source.start(
	{
		executable: join(import.meta.dirname, "../bestiary", habit),
		args: [],
		env: {
			PATH: process.env["PATH"] ?? "",
			...testMark(),
			SNAKEPIT_RUN: run.marker,
		},
		cwd: undefined,
		stdin: "empty",
		control: false,
	},
	(identity) => registry.activate(incarnation, identity, identity.pid),
);
await new Promise((resolve) => worker.stdout.once("data", resolve));

/** A test that waits for its end waits a second; the others must not see it. */
const GRACE_MS =
	ending.startsWith("exits") || ending === "listens_long" ? 600_000 : 1_000;
const leave = applicationCleanup.register({
	signalWish: {
		onSignal: ending === "decides itself" ? "ignore" : "end",
		graceMs: GRACE_MS,
	},
	close: async () => {
		worker.signal("SIGTERM", "group");
		const exit = await worker.exited;
		registry.end(incarnation, {
			exit,
			reason: "closed",
			killer: "stop_ladder",
		});
		leave();
		await run.release();
		// What follows a close follows in the same turn.
		setImmediate(() => console.log(JSON.stringify({ lives: true })));
	},
	killNow: () => {
		worker.signal("SIGKILL", "group");
	},
});

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

console.log(JSON.stringify({ pid: worker.identity.pid }));
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
		letGo();
		break;
}
