import { testMark } from "../../../../scripts/test-mark.ts";
import { openRun } from "../../src/index.ts";

/** A host to be killed: starts workers without end, or one whose script is given, and tells their pids. */
const [dataDir = "", script] = process.argv.slice(2);
const run = await openRun({
	dataDir,
	guard: "required",
	onEvent: (event) => {
		if (event.type === "protection.started") console.log(`guard ${event.pid}`);
	},
});
const { host, source } = run.infrastructure;
host.keepAlive();
process.once("SIGUSR2", () => process.exit());
do {
	const process_ = await source.start(
		{
			executable: "sh",
			args: ["-c", script ?? "sleep 100000"],
			env: { PATH: process.env["PATH"] ?? "", ...testMark() },
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		({ pid }) => console.log(`worker ${pid}`),
	);
	process_.stdout.on("data", (data) => process.stdout.write(data));
} while (script === undefined);
