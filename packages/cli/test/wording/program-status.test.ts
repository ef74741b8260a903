import { type RunSnapshot, verdict } from "@snakepit/control";
import { expect, test } from "vitest";
import {
	FakeRun,
	poolSnapshot,
	runningCall,
	workerSnapshot,
} from "../../../control/test/fake-run.ts";
import { programLines } from "../../src/runs/ps-command.ts";
import {
	type LivingProgram,
	type ProgramFacts,
	type ProgramView,
	programStatus,
	statusOf,
	worstFirst,
} from "../../src/wording/program-status.ts";

function living(
	view: ProgramView,
	more: Partial<LivingProgram> = {},
): LivingProgram {
	return {
		...{ kind: "living", runId: "abcdefg", pid: 7, program: "night.ts", view },
		...{ dataDir: "/data", ledger: { kind: "default" }, startedAtMs: 1 },
		stoppedWorkers: [],
		...more,
	};
}

function seen(
	pools: RunSnapshot["pools"],
	more: Partial<LivingProgram> = {},
): LivingProgram {
	const fake = new FakeRun();
	fake.pools = pools;
	const run = fake.look();
	return living({ kind: "seen", state: { run, verdict: verdict(run) } }, more);
}

function statusOn(...all: readonly ProgramFacts[]) {
	const programs = all.map((facts) => ({
		facts,
		status: programStatus(facts, "are short"),
	}));
	return statusOf(programs);
}

const idle = seen([poolSnapshot()]);
const lost = seen([poolSnapshot({ workers: [] })]);
const silentWorker = workerSnapshot({
	heartbeat: { status: "suspect", silentMs: 9_000, missedInARow: 2 },
});

test.each<readonly [string, readonly ProgramFacts[], string, string]>([
	["nothing", [], "fine", "No program of yours has an open run here."],
	[
		"a program that is well",
		[idle],
		"fine",
		"1 program runs with 1 pool: 1 worker ready, 0 busy; no call waits.",
	],
	[
		"a busy one beside it",
		[
			idle,
			seen([
				poolSnapshot({
					workers: [workerSnapshot({ running: [runningCall()] })],
					queue: { ...poolSnapshot().queue, waiting: 2, oldestMs: 900 },
				}),
			]),
		],
		"busy",
		"2 programs run with 2 pools: 2 workers ready, 1 busy; 2 calls wait. night.ts (pid 7), demo: 2 calls wait, the only worker is busy; the oldest has waited 0.9 s.",
	],
	[
		"a pool without workers",
		[idle, lost],
		"trouble",
		"night.ts (pid 7), demo: no worker is alive; no call waits. If it stays so, restart the program.",
	],
	[
		"two troubles",
		[lost, living({ kind: "halted", how: "stopped" })],
		"trouble",
		"night.ts (pid 7), demo: no worker is alive; no call waits. If it stays so, restart the program. Also: night.ts (pid 7): stopped.",
	],
	[
		"a stopped program",
		[living({ kind: "halted", how: "stopped" })],
		"trouble",
		"night.ts (pid 7) is stopped (by SIGSTOP, or Ctrl-Z in its terminal): it takes no calls and no answers. Continue it: kill -CONT 7.",
	],
	[
		"a program in a debugger",
		[living({ kind: "halted", how: "traced" })],
		"trouble",
		"night.ts (pid 7) is held by a debugger: it takes no calls and no answers. Let it go on in the debugger, or end that.",
	],
	[
		"a program whose event loop is blocked",
		[living({ kind: "silent", forMs: 2_000 })],
		"trouble",
		'night.ts (pid 7) has not answered for 2.0 s, and is not stopped: its event loop is blocked. See where: node inspect -p 7, then "pause" and "backtrace"; or restart it.',
	],
	[
		"a stopped worker",
		[
			seen([poolSnapshot({ workers: [silentWorker] })], {
				stoppedWorkers: [4_242],
			}),
		],
		"trouble",
		"night.ts (pid 7), demo: worker demo-0 (pid 4242) is stopped (by SIGSTOP). Continue it: kill -CONT 4242.",
	],
	[
		"a program whose control is off",
		[living({ kind: "off", workers: 2 })],
		"unknown",
		"1 program runs. night.ts (pid 7) lives with 2 workers, and its pools cannot be seen: control is off, or its TMPDIR is another one than here. If control is off, remove control: false or SNAKEPIT_CONTROL=0 and start it again; otherwise give this command the TMPDIR of the program.",
	],
	[
		"a program that does not let it read",
		[living({ kind: "refused", message: 'This needs the scope "read".' })],
		"unknown",
		'1 program runs. night.ts (pid 7) lives, and its pools cannot be seen: This needs the scope "read".',
	],
	[
		"a program that died",
		[
			{
				...{ kind: "dead", runId: "abcdefg", program: "night.ts" },
				...{ left: [8, 9], spared: [] },
				ledger: { kind: "named", dataDir: "/data" },
			},
		],
		"trouble",
		"night.ts (run abcdefg) died without closing its run, and 2 processes are left (pid 8, 9). Why: snakepit incidents --run abcdefg --data-dir /data. Clean up: start it again, or snakepit reap --data-dir /data.",
	],
	[
		"a ledger that cannot be read",
		[{ kind: "unreadable", path: "/data/runs", reason: "EACCES" }],
		"trouble",
		"The ledger /data/runs cannot be read: EACCES. Look at it as the user to whom it belongs, or mend its permissions.",
	],
	[
		"a run of another machine",
		[
			{
				...{ kind: "unclear", runId: "abcdefg", dataDir: "/data" },
				reason: "other_machine",
			},
		],
		"unknown",
		"No program of yours has an open run here. Run abcdefg in /data cannot be judged from here: it is of another machine that shares this directory. Look at it from there.",
	],
	[
		"another user's run",
		[
			{
				...{ kind: "of_another", runId: "abcdefg", uid: 33, lives: "yes" },
				directory: "/tmp/snakepit-abcdefg-0123456789",
			},
		],
		"unknown",
		"No program of yours has an open run here. Run abcdefg of user 33 lives (/tmp/snakepit-abcdefg-0123456789), and only that user can look at it. As that user: sudo -u '#33' snakepit ps.",
	],
])("the first line on %s", (_, programs, level, text) => {
	expect(statusOn(...programs)).toMatchObject({ level, text });
});

test("a pool has its state in words, and a worker that was stopped is no worker that hangs", () => {
	const words = (facts: LivingProgram) =>
		programStatus(facts, "are short").pools.map((pool) => [
			pool.level,
			pool.words,
		]);
	expect(words(idle)).toEqual([["fine", "idle"]]);
	expect(words(lost)).toEqual([["trouble", "no worker"]]);
	const pools = [poolSnapshot({ workers: [silentWorker] })];
	expect(words(seen(pools))).toEqual([["trouble", "hung worker"]]);
	expect(words(seen(pools, { stoppedWorkers: [4_242] }))).toEqual([
		["trouble", "stopped worker"],
	]);
});

test("of several programs, the command of a remedy names the one", () => {
	const facts = seen([poolSnapshot({ workers: [silentWorker] })]);
	const remedies = (which: Parameters<typeof programStatus>[1]) =>
		programStatus(facts, which).pools[0]?.remarks.map(({ remedy }) => remedy);
	expect(remedies("are short")?.[0]).toMatch(
		/^See where it is: snakepit stacks demo-0\./,
	);
	expect(remedies("name the run")?.[0]).toMatch(
		/^See where it is: snakepit stacks --run abcdefg demo-0\./,
	);
});

test("further troubles are named with their program, unless all are of one", () => {
	const pools = ["images", "pages"].map((pool) =>
		poolSnapshot({ pool, workers: [] }),
	);
	const shop = seen(pools, { program: "shop.ts", pid: 8 });
	expect(statusOn(shop).text).toMatch(/\. Also: pages: no worker\.$/);
	const dead: ProgramFacts = {
		...{ kind: "dead", runId: "hijklmn", program: "old.ts" },
		...{ left: [], spared: [], ledger: { kind: "default" } },
	};
	expect(statusOn(lost, shop, dead).text).toMatch(
		/\. Also: shop\.ts \(pid 8\), images: no worker; shop\.ts \(pid 8\), pages: no worker; old\.ts \(run hijklmn\): dead\.$/,
	);
});

test("five further troubles are named, the others are counted", () => {
	const pools = [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
		poolSnapshot({ pool: `p${number}`, workers: [] }),
	);
	const named = [2, 3, 4, 5, 6].map((number) => `p${number}: no worker`);
	const also = (count: number) => {
		const { text } = statusOn(seen(pools.slice(0, count)));
		return text.slice(text.indexOf("Also: "));
	};
	expect(also(6)).toBe(`Also: ${named.join(", ")}.`);
	expect(also(8)).toBe(`Also: ${named.join(", ")}, and 2 more (2 no worker).`);
});

const looping = poolSnapshot({
	pool: "pages",
	workers: [],
	starts: { ...poolSnapshot().starts, failuresInARow: 3 },
});
const paused = poolSnapshot({
	phase: "paused",
	queue: { ...poolSnapshot().queue, waiting: 1, oldestMs: 1 },
});
const stopped = living({ kind: "halted", how: "stopped" }, { program: "b.ts" });

test("the worst trouble of all programs is said first, and no crash loop is only counted", () => {
	const many = [1, 2, 3, 4, 5, 6].map((n) => ({ ...paused, pool: `p${n}` }));
	const programs = [seen(many), stopped, seen([looping], { program: "c.ts" })];
	expect(statusOn(...programs).text).toMatch(
		/^c\.ts \(pid 7\), pages: crash loop, .* Also: b\.ts \(pid 7\): stopped; night.*; and 2 more \(2 paused\)\.$/,
	);
	const loops = [1, 2, 3, 4, 5, 6, 7].map((n) => ({
		...looping,
		pool: `l${n}`,
	}));
	expect(statusOn(seen([...many, ...loops])).text).toMatch(
		/, l6: crash loop, and 7 more \(1 crash loop, 6 paused\)\.$/,
	);
});

test("programs in trouble are first in the list, the one with the worst before the others", () => {
	const all = [
		seen([paused], { program: "a.ts" }),
		...[idle, stopped],
		seen([looping], { program: "c.ts" }),
	].map((facts) => ({ facts, status: programStatus(facts, "are short") }));
	expect(worstFirst(all).map(({ facts }) => facts.program)).toEqual([
		...["c.ts", "b.ts", "a.ts", "night.ts"],
	]);
});

test("a command that reads a ledger names it, unless it is the default", () => {
	const recentCalls = { windowMs: 60_000, ended: 9, failed: 9, last: null };
	const remedy = (ledger: LivingProgram["ledger"]) =>
		statusOn(seen([poolSnapshot({ recentCalls })], { ledger })).remark?.remedy;
	const command = "See: snakepit calls --failed --run abcdefg";
	expect(remedy({ kind: "default" })).toBe(`${command}.`);
	expect(remedy({ kind: "named", dataDir: "/d" })).toBe(
		`${command} --data-dir /d.`,
	);
});

const NORTH = "images-of-all-customers-in-the-north-eu";
/** Two pools with long names that differ at their ends, and a short one between them. */
const longNames = seen(
	[`${NORTH}1`, "pages", `${NORTH}3`].map((pool) =>
		poolSnapshot({ pool, workers: [silentWorker] }),
	),
	{ program: "resize-images-of-the-north.ts" },
);

function psLines(columns: number): readonly string[] {
	const programs = [longNames, lost].map((facts) => ({
		facts,
		status: programStatus(facts, "are short"),
	}));
	return programLines(programs, statusOf(programs), columns);
}

test("outside of a terminal, ps has whole names in rows of one line", () => {
	const lines = psLines(0);
	expect(lines[1]).toMatch(
		/^resize-images-of-the-north\.ts {2}abcdefg {2}images-of-all-customers-in-the-north-eu1 {2}hung worker {2}1\/1 +0 +0 +0 +-$/,
	);
	expect(lines.filter((line) => line.includes("eu3"))).toHaveLength(2);
});

test.each([
	[
		120,
		/^resize-i…orth\.ts {2}abcdefg {2}images-of-all-customers-in-the-north-eu(\d) /,
	],
	[
		100,
		/^resize-i…orth\.ts {2}abcdefg {2}images-o\S*…\S*-eu(\d) +hung worker /,
	],
	[80, /^ {2}images-o\S*…\S*-eu(\d) +hung worker {2}1\/1 +0 +0 +0 +-$/],
	[72, /^ {2}images\S*…\S*-eu(\d) +hung worker {2}1\/1 +0 +0 +0 +-$/],
])(
	"in a terminal of %i columns, a row of ps is no longer, and shows which pool it is of",
	(columns, row) => {
		const lines = psLines(columns);
		for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
		expect(lines.flatMap((line) => row.exec(line)?.[1] ?? [])).toEqual([
			...["1", "3"],
		]);
		const whole = lines.map((line) => line.trim()).join(" ");
		expect(whole).toContain("stacks demo-0");
		if (columns <= 80)
			expect(lines.filter((line) => /^(resize-|night\.ts)/.test(line))).toEqual(
				[...["resize-i…orth.ts  abcdefg", "night.ts          abcdefg"]],
			);
	},
);
