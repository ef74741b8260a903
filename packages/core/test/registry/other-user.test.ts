/** What a program of another user meets in a ledger; `.ci/run` runs this where only root may enter the checkout. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openRun } from "../../src/run/open-run.ts";
import { craftRun } from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * What an unprivileged program sees of a ledger. It becomes that user once
 * everything is loaded: the checkout may be where that user cannot enter.
 */
async function acquireAsNobody(
	dataDir: string,
): Promise<Record<string, unknown>> {
	const source = (path: string): string =>
		JSON.stringify(join(import.meta.dirname, "../../src", path));
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			"--input-type=module",
			"-e",
			`import { loadJoinRun, openRun } from ${source("run/open-run.ts")};
			import { loadSqlite } from ${source("registry/sqlite.ts")};
			const dataDir = ${JSON.stringify(dataDir)};
			await loadSqlite();
			await loadJoinRun();
			if (${isRoot}) {
				process.setgroups([]);
				process.setgid(${NOBODY});
				process.setuid(${NOBODY});
			}
			try {
				// A guard would be loaded now.
				const run = await openRun({ dataDir, guard: "off" });
				console.log(JSON.stringify({ user: process.getuid(), ...run.cleanupReport }));
				await run.close();
			} catch ({ code, message }) {
				console.log(JSON.stringify({ user: process.getuid(), code, message }));
			}`,
		],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { PATH: process.env["PATH"] },
			cwd: "/",
		},
	);
	let text = "";
	child.stdout.on("data", (chunk) => {
		text += chunk;
	});
	await once(child, "close");
	const { user, ...report } = JSON.parse(text);
	expect(user).toBe(isRoot ? NOBODY : process.getuid?.());
	return report;
}

/** Readable, not writable, for the unprivileged one. */
function makeReadOnly(...paths: readonly string[]): void {
	for (const path of paths) chmodSync(path, 0o555);
	onTestFinished(() => {
		for (const path of paths) if (existsSync(path)) chmodSync(path, 0o755);
	});
}

function giveAway(path: string): void {
	if (isRoot) spawnSync("chown", ["-R", `${NOBODY}:${NOBODY}`, path]);
}

test("other runs' files that may only be read are reported, and no reason not to start", async () => {
	const dataDir = temporaryDirectory();
	const crafted = await craftRun(dataDir);
	giveAway(dataDir);
	makeReadOnly(crafted.lockPath, crafted.path);
	expect(await acquireAsNobody(dataDir)).toMatchObject({
		deadRuns: [],
		sparedRuns: [{ runId: crafted.name.runId, reason: "unreadable" }],
	});
	expect(existsSync(crafted.path)).toBe(true);
});

test("a directory that may only be read is a clear error at the start", async () => {
	const dataDir = temporaryDirectory();
	giveAway(dataDir);
	makeReadOnly(dataDir);
	expect(await acquireAsNobody(dataDir)).toMatchObject({
		code: "REGISTRY_UNWRITABLE",
		message: expect.stringContaining("dataDir"),
	});
});

test("a directory below which may only be read is a clear error too, and nothing is left", async () => {
	const dataDir = temporaryDirectory();
	const runs = join(dataDir, "runs");
	mkdirSync(runs);
	mkdirSync(join(dataDir, "history"));
	giveAway(dataDir);
	makeReadOnly(runs);
	expect(await acquireAsNobody(dataDir)).toMatchObject({
		code: "REGISTRY_UNWRITABLE",
	});
	expect(readdirSync(runs)).toEqual([]);
});

test.skipIf(!isRoot)(
	"a folder of somebody else is not used, also when it was named explicitly (needs root to make one)",
	async () => {
		const dataDir = temporaryDirectory();
		chmodSync(dataDir, 0o777);
		expect(await acquireAsNobody(dataDir)).toMatchObject({ deadRuns: [] });
		await expect(openRun({ dataDir })).rejects.toMatchObject({
			code: "REGISTRY_UNWRITABLE",
			message: expect.stringMatching(/belongs to user 65534 .*dataDir/),
		});
	},
);
