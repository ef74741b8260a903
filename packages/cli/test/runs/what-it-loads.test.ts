import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

const DEADLINE_MS = 120_000;
/** Lists at its exit what Node has loaded of itself and of the packages. */
const LISTING = `
	import { createRequire } from "node:module";
	process.on("exit", () => {
		const own = process.moduleLoadList.map((name) => name.replace(/^NativeModule /, ""));
		const required = Object.keys(createRequire("/").cache);
		process.stderr.write(JSON.stringify([...own, ...required]));
	});
`;

/** What the command loads that takes more than 10 ms of processor time. */
function heavy(listing: string, args: readonly string[]): readonly string[] {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const { status, stderr } = spawnSync(
		program,
		["--import", listing, ...before, ...args],
		{ encoding: "utf8" },
	);
	expect(status).toBe(0);
	const loaded: readonly string[] = JSON.parse(stderr);
	return [
		["HTTP", /^http$/] as const,
		["fetch", /undici/] as const,
		["SQLite", /better-sqlite3/] as const,
	]
		.filter(([, module]) => loaded.some((name) => module.test(name)))
		.map(([what]) => what);
}

test(
	"a command that attaches loads no fetch, and no command loads what only others need",
	async () => {
		const place = temporaryDirectory();
		const listing = join(place, "listing.mjs");
		writeFileSync(listing, LISTING);
		const host = spawn(
			process.execPath,
			[
				"--conditions=snakepit-source",
				join(import.meta.dirname, "host.ts"),
				place,
				"1",
			],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		onTestFinished(() => {
			host.kill("SIGKILL");
		});
		await once(host.stdout, "data");
		expect(heavy(listing, ["--help"])).toEqual([]);
		// Every program that lives says how it is.
		expect(heavy(listing, ["ps", "--data-dir", place])).toEqual(["HTTP"]);
		expect(heavy(listing, ["history", "--data-dir", place])).toEqual([
			"SQLite",
		]);
		expect(heavy(listing, ["tools", "--data-dir", place])).toEqual(["HTTP"]);
		const end = once(host, "exit");
		host.stdin.end();
		await end;
	},
	DEADLINE_MS,
);
