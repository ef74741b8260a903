import { execFile } from "node:child_process";
import {
	existsSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { findRuns } from "@snakepit/control";
import { expect, onTestFinished, test, vi } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { rows } from "../../../../scripts/test-effort.ts";
import { openRun, type Run } from "../../src/index.ts";
import { sharedDirectoryOf } from "../../src/os/shared-memory.ts";
import { StderrReport } from "../../src/pool/observe/stderr-report.ts";
import { EventRecorder } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { CAPITALS } from "../guard/capitals.ts";

const DROPPED_RIGHTS = join(import.meta.dirname, "dropped-rights-program.ts");
const NOBODY = 65_534;
const onLinux = process.platform === "linux";

/** A run with one pool of one worker, and a temporary directory that is only its own. */
async function opened(guard: "off" | "required", size = 1) {
	// Short: sockets have to fit.
	const scratch = mkdtempSync(join(tmpdir(), "r-"));
	onTestFinished(() => removeDirectory(scratch));
	const runtime = join(scratch, "x");
	mkdirSync(runtime, { mode: 0o700 });
	vi.stubEnv("XDG_RUNTIME_DIR", runtime);
	vi.stubEnv("TMPDIR", scratch);
	onTestFinished(() => void vi.unstubAllEnvs());
	const [events, runEvents] = [new EventRecorder(), new EventRecorder()];
	const run = await openRun({
		dataDir: join(scratch, "data"),
		guard,
		audit: { intervalMs: 100 },
		onEvent: runEvents.record,
	});
	onTestFinished(() => run.close());
	const pool = await run.createPool({
		adapter: CAPITALS,
		size,
		start: { backoffMs: 1 },
		output: { echo: "none" },
		onEvent: events.record,
	});
	const directory = runDirectory(run, runtime);
	expect(existsSync(directory)).toBe(true);
	expect(directory).not.toBe(`${runtime}/`);
	return { scratch, runtime, events, runEvents, run, pool, directory };
}

/** Looked up on the disk: the run itself would make it again. */
function runDirectory({ runId }: Run, base: string): string {
	const [name = ""] = readdirSync(base).filter((each) => each.includes(runId));
	return join(base, name);
}

type Setting = Awaited<ReturnType<typeof opened>>;

async function replaced({ events, pool }: Setting): Promise<string> {
	const before = events.of("worker.ready").length;
	const { pid } = events.of("worker.ready").at(-1) as { pid: number };
	process.kill(pid, "SIGKILL");
	await events.waitFor("worker.exited", (event) => event.pid === pid);
	const answer = (await pool.execute("after", undefined)) as string;
	expect(events.of("worker.ready").length).toBe(before + 1);
	expect(events.of("worker.start_failed")).toEqual([]);
	return answer;
}

function removed(path: string): void {
	rmSync(path, { recursive: true });
}

type Loss = readonly [
	string,
	(at: Setting) => void,
	/** Of the directory for sockets, and of the one in shared memory. */
	readonly (string | undefined)[],
];

const LOSSES: readonly Loss[] = rows<Loss>(
	[
		[
			"is removed",
			({ directory }) => removed(directory),
			["removed", undefined],
		],
		[
			"is removed, and the directory of all users' runtime directories with it,",
			({ runtime }) => removed(runtime),
			["removed", undefined],
		],
		[
			"in shared memory is removed",
			({ directory }) => removed(sharedDirectoryOf(directory)),
			[undefined, "removed"],
		],
		[
			"is removed, and that in shared memory with it,",
			({ directory }) => {
				removed(directory);
				removed(sharedDirectoryOf(directory));
			},
			["removed", "removed"],
		],
		[
			"is replaced by a link",
			({ directory, scratch }) => {
				removed(directory);
				mkdirSync(join(scratch, "elsewhere"), { mode: 0o700 });
				symlinkSync(join(scratch, "elsewhere"), directory);
			},
			["replaced", undefined],
		],
		[
			"is replaced by a directory that others can enter",
			({ directory }) => {
				removed(directory);
				mkdirSync(directory, { mode: 0o755 });
			},
			["replaced", undefined],
		],
	],
	([name]) => name.includes("link") || name.includes("with it,"),
);

for (const guard of ["off", "required"] as const)
	test.runIf(onLinux).each(LOSSES)(
		`where the directory of a run %s, its worker goes on and the next one starts (guard: "${guard}")`,
		async (_name, lose, [runtimeLoss, sharedLoss]) => {
			const at = await opened(guard);
			const { events, pool, run, directory, scratch } = at;
			lose(at);
			expect(await pool.execute("hello", undefined)).toBe("HELLO");
			expect(await replaced(at)).toBe("AFTER");
			const lost = new Map(
				events.of("run.directory_lost").map(({ directory, how, reason }) => {
					expect(reason).toBeUndefined();
					return [directory, how];
				}),
			);
			expect(lost.get("runtime")).toBe(runtimeLoss);
			expect(lost.get("shared_memory")).toBe(sharedLoss);
			expect(events.of("run.directory_renewed")).toHaveLength(lost.size);
			const { runDirectory: now, sharedDirectory: shared } = run.infrastructure;
			for (const path of [now, shared as string]) {
				const { mode, uid } = lstatSync(path);
				expect([mode & 0o777, uid]).toEqual([0o700, process.getuid?.()]);
			}
			expect(basename(shared as string)).toBe(basename(now));
			// What has taken the name is not written to.
			if (now !== directory && existsSync(directory))
				expect(readdirSync(directory)).toEqual([]);
			await run.close();
			expect(at.runEvents.of("run.ended").map(({ clean }) => clean)).toEqual([
				true,
			]);
			const left = [scratch, "/dev/shm"].flatMap((path) => readdirSync(path));
			expect(left.filter((name) => name.includes(run.runId))).toEqual([]);
		},
	);

test.runIf(onLinux)(
	"jobs start in a run whose directories were removed",
	async () => {
		const { run, directory } = await opened("required");
		removed(directory);
		removed(sharedDirectoryOf(directory));
		expect(await run.job(["echo", "works"]).text()).toBe("works\n");
	},
);

test.runIf(onLinux)(
	"clients find a run whose directory was removed after the next audit",
	async () => {
		const { run, events, directory } = await opened("off");
		removed(directory);
		await events.waitFor("run.directory_renewed");
		await expect
			.poll(() => readdirSync(directory))
			.toEqual(expect.arrayContaining(["control.json", "control.sock"]));
		const found = (await findRuns(run.dataDir)).map(({ runId }) => runId);
		expect(found).toEqual([run.runId]);
		rmSync(join(directory, "control.json"));
		await expect.poll(() => readdirSync(directory)).toContain("control.json");
	},
);

test.runIf(onLinux)(
	"a worker that runs has its own directories again",
	async () => {
		const { run, directory, events } = await opened("off");
		const own = join(directory, "1");
		expect(lstatSync(own).isDirectory()).toBe(true);
		removed(directory);
		await events.waitFor("run.directory_renewed");
		expect(lstatSync(own).mode & 0o777).toBe(0o700);
		await run.close();
	},
);

test.runIf(onLinux)(
	"while the directory in shared memory cannot be made again, workers start without it, and standard error says so",
	async () => {
		const at = await opened("off");
		const { directory, events, run } = at;
		const shared = sharedDirectoryOf(directory);
		onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
		removed(shared);
		writeFileSync(shared, "something else");
		const lost = await events.waitFor("run.directory_lost");
		expect(lost).toMatchObject({ how: "replaced", path: shared });
		expect(new StderrReport().textOf(lost)).toMatch(
			/was replaced by something else, and it cannot be created again: .* sent in messages/,
		);
		expect(await replaced(at)).toBe("AFTER");
		expect(run.infrastructure.sharedDirectory).toBeUndefined();
		expect(events.of("run.directory_lost")).toHaveLength(1);
		rmSync(shared);
		const renewed = await events.waitFor("run.directory_renewed");
		expect(new StderrReport().textOf(renewed)).toMatch(
			/a new one in its place/,
		);
		expect(run.infrastructure.sharedDirectory).toBe(shared);
	},
);

test.runIf(onLinux && process.getuid?.() === 0).each(["off", "required"])(
	"a program that stops being root replaces its workers by ones of its new user, in directories of that user, and closes (guard: %s)",
	async (guard) => {
		const dataDir = temporaryDirectory();
		const { stdout } = await promisify(execFile)(process.execPath, [
			...["--conditions=snakepit-source", DROPPED_RIGHTS, dataDir, guard],
		]);
		const { run, ...rest } = JSON.parse(stdout);
		expect(rest).toEqual({
			said: ["AS ROOT", "AS NOBODY"],
			user: NOBODY,
			lost: ["runtime: other_user", "shared_memory: other_user"],
			guards: guard === "off" ? 0 : 2,
			killers: ["stop_ladder", "stop_ladder"],
		});
		expect(run.clean).toBe(true);
		const left = () =>
			[...new Set([tmpdir(), "/tmp", "/dev/shm"])]
				.flatMap((base) => readdirSync(base).map((name) => join(base, name)))
				.filter((path) => path.includes(run.runId));
		// The next start of root removes what is root's.
		const owned = left().map(
			(path) => `${statSync(path).uid} ${dirname(path)}`,
		);
		expect(owned).toEqual([`0 ${tmpdir()}`, "0 /dev/shm"]);
		const next = await openRun({ dataDir, guard: "off" });
		await next.close();
		expect(left()).toEqual([]);
	},
);
