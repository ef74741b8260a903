/** A program with a run and a worker that ends in a way of its own; see signals.test.ts. */
import { join } from "node:path";
import { testMark } from "../../../../scripts/test-mark.ts";
import { acquireRun } from "../../src/cleanup/acquire-run.ts";
import { applicationCleanup } from "../../src/cleanup/application-cleanup.ts";

const [dataDir, habit = "sleeps.sh", ending = "wait"] = process.argv.slice(2);
if (ending === "listened_once_before")
	process.once("SIGTERM", () =>
		console.log(JSON.stringify({ listened: true })),
	);
const run = await acquireRun({
	dataDir,
	strategy: undefined,
	emit: ({ type, ...rest }) => {
		if (type === "host.signal_received")
			console.log(JSON.stringify({ type, ...rest }));
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

const leave = applicationCleanup.register({
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
if (ending === "listens") process.on("SIGTERM", listened);
if (ending === "listens_once") process.once("SIGTERM", listened);

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
