import type { RunHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import { otherLedgerLines } from "../../src/runs/other-ledgers.ts";
import {
	historyLines,
	incidentLines,
	incidentsOf,
} from "../../src/runs/runs-commands.ts";

const worker = (reason: string, end: object = {}) => ({
	workerId: "w-1",
	pool: "p",
	identity: { pid: 7 },
	endedAt: 5,
	end: { reason, killer: "none", exit: undefined, ...end },
});

const runWith = (more: object): RunHistory =>
	({
		...{ runId: "abcdefg", workers: [], incidents: [], clean: true, killed: 0 },
		...{ state: "terminated", owner: { pid: 1 }, acts: [], workerCount: 0 },
		...{ startedAt: 1, endedAt: 2, ...more },
	}) as unknown as RunHistory;

/** The incidents of a run with these workers and incidents. */
function incidents(run: object) {
	return incidentsOf(runWith(run));
}

function texts(run: object): readonly string[] {
	return incidents(run).map(({ text }) => text);
}

test("a worker that ended in order is not an incident; any other end is, with how it ended and what ended it", () => {
	expect(texts({ workers: [worker("closed"), worker("recycled")] })).toEqual(
		[],
	);
	expect(
		texts({
			workers: [
				worker("exited", { exit: { kind: "code", code: 3 } }),
				worker("exited", {
					exit: { kind: "signal", signal: "SIGKILL" },
					killer: "unknown",
					lastCommand: "mean",
				}),
				worker("exited", { exit: { kind: "signal", signal: "SIGSEGV" } }),
				worker("hung", {
					exit: { kind: "signal", signal: "SIGKILL" },
					killer: "stop_ladder",
				}),
				worker("broken", { killer: "application_cleanup" }),
				worker("vanished", { killer: "stop_ladder" }),
				worker("parent_lost", {
					exit: { kind: "signal", signal: "SIGKILL" },
					killer: "guard",
				}),
				{ ...worker("exited"), end: undefined },
			],
		}),
	).toEqual([
		"w-1 (pid 7) ended with status 3: exited",
		"w-1 (pid 7) ended by SIGKILL, it is not known by whom; its last call was mean",
		"w-1 (pid 7) ended by SIGSEGV",
		"w-1 (pid 7) ended by SIGKILL, by Snakepit, because it hung",
		"w-1 (pid 7) ended by Snakepit, because its conversation broke",
		"w-1 (pid 7) ended: vanished, by Snakepit",
		"w-1 (pid 7) ended by SIGKILL: parent lost, ended by the loss of its guard",
	]);
});

test("the last lines of a worker are shown without their colours", () => {
	const tail = ["first", "\u001b[31mred"];
	expect(incidents({ workers: [worker("exited", { tail })] })).toMatchObject([
		{ lines: ["first", "red"] },
	]);
});

test("lines that begin between two paragraphs begin with words", () => {
	const tail = ["", " ", "Current thread", "", "Extension modules"];
	expect(incidents({ workers: [worker("exited", { tail })] })).toMatchObject([
		{ lines: tail.slice(2) },
	]);
	expect(
		incidents({ workers: [worker("exited", { tail: [""] })] }),
	).toMatchObject([{ lines: [] }]);
});

test("what a protection did, and the end of a host, are incidents", () => {
	expect(
		texts({
			incidents: [
				{
					...{ type: "protection.process_killed", wallMs: 3, ofRun: "abcdefg" },
					...{ protection: "guard", pid: 9, foundBy: "group" },
				},
			],
			...{ clean: false, endedAt: 8, endedBy: "reaper:bcdefgh", killed: 2 },
		}),
	).toEqual([
		"protection guard ended pid 9, found by group",
		"died. Its program is gone and recorded no end, as after SIGKILL, a crash in native code, a full heap, or process.abort(). Cleaned up by the start of run bcdefgh: 1 process had to be ended; a guard had ended 1 process before.",
	]);
});

test("the death of a host has the time at which a protection saw it, else that of the clean-up", () => {
	const died = { clean: false, endedAt: 8, endedBy: "reaper:bcdefgh" };
	const seen = {
		...{ type: "protection.host_death_detected", wallMs: 4 },
		protection: "guard",
	};
	expect(incidents(died).at(-1)).toMatchObject({ wallMs: 8 });
	expect(incidents({ ...died, incidents: [seen] }).at(-1)).toMatchObject({
		...{ wallMs: 4, text: expect.stringMatching(/^died\./) },
	});
});

function incident(text: string, lines: readonly string[] = []) {
	return { wallMs: undefined, runId: "abcdefg", text, lines };
}

test("without incidents there is one sentence", () => {
	expect(incidentLines([], false, 0, "folded")).toEqual([
		"No worker and no host ended unexpectedly.",
	]);
});

test("a row has the last line of output, or all lines follow it", () => {
	const found = [incident("crashed", ["one", "two"]), incident("killed")];
	expect(incidentLines(found, false, 0, "folded")).toEqual([
		"TIME     RUN      WHAT",
		"unknown  abcdefg  crashed; last line: two",
		"unknown  abcdefg  killed",
	]);
	expect(incidentLines(found, true, 0, "folded").slice(1)).toEqual([
		"unknown  abcdefg  crashed",
		"    one",
		"    two",
		"unknown  abcdefg  killed",
	]);
});

test("50 are shown, and a line says how many older ones there are", () => {
	const found = Array.from({ length: 52 }, (_, index) =>
		incident(`number ${index}`),
	);
	expect(incidentLines(found.slice(0, 50), false, 0, "folded")).toHaveLength(
		51,
	);
	expect(incidentLines(found, false, 0, "every")).toHaveLength(53);
	const lines = incidentLines(found, false, 0, "folded");
	expect(lines).toHaveLength(52);
	expect(lines.at(-2)).toMatch(/ number 49$/);
	expect(lines.at(-1)).toBe(
		"2 older incidents are not shown. All of them: snakepit incidents --all",
	);
});

test("incidents that are alike are one row, also of workers that crash by turns; others are not", () => {
	const at = new Date(2026, 10, 29, 8, 36, 40).getTime();
	const crash = (number: number, more: object = {}) => ({
		...incident(`w-${number % 2} (pid ${100 + number}) ended by SIGSEGV`, [
			`Segmentation fault at 0x${number}f after ${number} ms`,
		]),
		...{ wallMs: at + number * 7_000, ...more },
	});
	const crashes = [5, 4, 3, 2, 1, 0].map((each) => crash(each));
	const shown = (found: readonly ReturnType<typeof crash>[]) =>
		incidentLines(found, false, 0, "folded").slice(1);
	expect(shown(crashes)).toEqual([
		expect.stringMatching(
			/ 08:37:15 .* w-1 \(pid 105\) .* after 5 ms \(3 times since 08:36:47\)$/,
		),
		expect.stringMatching(/ w-0 \(pid 104\) .* \(3 times since 08:36:40\)$/),
		"Each in a row of its own: snakepit incidents --all",
	]);
	expect(incidentLines(crashes, false, 0, "every")).toHaveLength(7);
	for (const other of [{ runId: "bcdefgh" }, { lines: ["paper jam"] }])
		expect(shown([crash(2), crash(0, other)])).toHaveLength(2);
	const yesterday = { wallMs: at - 86_400_000 };
	expect(shown([crash(2), crash(0, yesterday)])[0]).toMatch(
		/ \(2 times since 2026-11-28 08:36:40\)$/,
	);
	const unknown = { wallMs: undefined as unknown as number };
	expect(shown([crash(2, unknown), crash(0, unknown)])[0]).toMatch(
		/ \(2 times\)$/,
	);
});

test("in a terminal a row goes on below its text, and the lines of output too; nothing of it is lost", () => {
	const text =
		"models-0 (pid 4711) could not be started: TOOLS_IMPORT_FAILED: the tools cannot be imported from /srv/app/models.py: FileNotFoundError: [Errno 2] No such file or directory: '/models/a.bin', at <module> (/srv/app/models.py:4)";
	const found = [incident(text, [`Error: ${"no paper ".repeat(20).trim()}`])];
	const lines = incidentLines(found, true, 80, "folded");
	for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
	const joined = lines.map((line) => line.trim()).join(" ");
	expect(joined).toContain(text);
	expect(joined).toContain(found[0]?.lines[0]);
	expect(lines[2]).toMatch(/^ {18}\S/);
	expect(lines.at(-1)).toMatch(/^ {6}\S/);
	expect(incidentLines(found, true, 0, "folded")).toHaveLength(3);
});

test("of what others asked of a run the last three are shown, and how to see the rest; of one run all", () => {
	const acts = [1, 2, 3, 4, 5].map((wallMs) => ({
		...{ type: "pool.paused", wallMs, pool: `p${wallMs}`, by: "ada" },
	}));
	const shown = (withAll: boolean) =>
		historyLines([runWith({ acts })], withAll, " --data-dir /d", 0)
			.slice(2)
			.map((line) => line.replace(/^ {4}\S+ \S+ {2}/, ""));
	const paused = (pool: number) => `pool p${pool} is paused by ada`;
	expect(shown(false)).toEqual([
		"    2 earlier requests: snakepit history --run abcdefg --data-dir /d",
		...[3, 4, 5].map(paused),
	]);
	expect(shown(true)).toEqual([1, 2, 3, 4, 5].map(paused));
});

test("five programs that died elsewhere are named, and five other ledgers; the rest is counted", () => {
	const ledgers = [1, 2, 3, 4, 5, 6, 7].flatMap((n) => [
		{ dataDir: `/died${n}`, died: [{ runId: `run${n}`, program: "a.ts" }] },
		{ dataDir: `/other ${n}`, died: [] },
	]);
	const lines = otherLedgerLines(ledgers);
	expect(lines.slice(0, 5)).toEqual(
		[1, 2, 3, 4, 5].map(
			(n) =>
				`Also died: a.ts (run run${n}). Why: snakepit incidents --run run${n} --data-dir /died${n}`,
		),
	);
	const others = [1, 2, 3, 4, 5].map((n) => `--data-dir '/other ${n}'`);
	expect(lines.slice(5)).toEqual([
		"2 more programs died: snakepit ps names them.",
		`Other programs have a ledger of their own: ${others.join(", ")}, and 2 more.`,
	]);
});
