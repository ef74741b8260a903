import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { markedHost } from "../../../scripts/marked-host.ts";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import { isThorough, rows } from "../../../scripts/test-effort.ts";
import { BELOW_NPX, pythonServer, server } from "./servers.ts";

const npx = spawnSync("npx", ["--version"], { stdio: "ignore" }).status === 0;
const LONG = [
	"trigger-long-running-operation",
	JSON.stringify({ duration: 3_600, steps: 1 }),
];
const WAIT = ["wait", "{}"];

const PROGRAMS = [
	{
		name: "everything, in a call",
		server: () => ({ command: server("everything") }),
		call: LONG,
		least: 1,
	},
	...[
		{ name: "everything below npx", call: [] },
		{ name: "everything below npx, in a call", call: LONG },
		// npx, a shell, and the server.
	].map((row) => ({ ...row, server: () => BELOW_NPX, least: 2 })),
	{
		name: "a server in Python, in a call",
		server: () => pythonServer("2.3.0").alone,
		call: WAIT,
		least: 1,
	},
	{
		name: "a server in Python below uv run, in a call",
		server: () => pythonServer("2.3.0").belowUv,
		call: WAIT,
		least: 2,
	},
	{
		name: "a server in Python below uvx, in a call",
		server: () => pythonServer("2.3.0").belowUvx,
		call: WAIT,
		least: 2,
	},
];

// Its environment is made once, which takes minutes on a busy machine.
beforeAll(() => void (isThorough() && pythonServer("2.3.0")), 600_000);

test.runIf(process.platform === "linux").each(
	rows(
		PROGRAMS.filter(({ name }) => npx || !name.includes("npx")),
		(_, index) => index === 0,
	),
)(
	`$name leaves nothing when its host is killed${npx ? "" : " (no npx: skipped below it)"}`,
	async ({ server, call, least }) => {
		await using host = await markedHost(
			join(import.meta.dirname, "programs/host.ts"),
			[dataDirectory(), JSON.stringify(server()), ...call],
		);
		expect(host.living().length).toBeGreaterThanOrEqual(least);
		expect(await host.kill(10_000)).toEqual([]);
	},
	120_000,
);
