import { expect, test } from "vitest";
import type { ProcessExit } from "../../src/contract/identity.ts";
import {
	killerOf,
	lostParentOf,
	type SentSignal,
} from "../../src/process/process-end.ts";

const ladder = (signal: NodeJS.Signals): SentSignal => ({
	signal,
	by: "stop_ladder",
});
const cleanup: SentSignal = { signal: "SIGKILL", by: "application_cleanup" };
const by = (signal: NodeJS.Signals): ProcessExit => ({
	kind: "signal",
	signal,
});
const code: ProcessExit = { kind: "code", code: 0 };

test.each<[string, ProcessExit | undefined, readonly SentSignal[], string]>([
	["ended by itself", code, [], "none"],
	["crashed", by("SIGSEGV"), [], "none"],
	["killed by nobody here", by("SIGKILL"), [], "unknown"],
	["ended by SIGTERM of nobody here", by("SIGTERM"), [], "unknown"],
	["killed by the ladder", by("SIGKILL"), [ladder("SIGKILL")], "stop_ladder"],
	[
		"ended by the ladder's SIGTERM",
		by("SIGTERM"),
		[ladder("SIGTERM")],
		"stop_ladder",
	],
	[
		"ended in order when the ladder sent SIGTERM",
		code,
		[ladder("SIGTERM")],
		"stop_ladder",
	],
	[
		"killed at the exit of the host",
		by("SIGKILL"),
		[cleanup],
		"application_cleanup",
	],
	[
		"killed at the exit of the host after the ladder's SIGTERM",
		by("SIGKILL"),
		[ladder("SIGTERM"), cleanup],
		"application_cleanup",
	],
	[
		"killed by both, the ladder first",
		by("SIGKILL"),
		[ladder("SIGKILL"), cleanup],
		"stop_ladder",
	],
	[
		"killed from outside after the ladder's SIGTERM",
		by("SIGKILL"),
		[ladder("SIGTERM")],
		"unknown",
	],
	[
		"crashed after the ladder's SIGTERM",
		by("SIGSEGV"),
		[ladder("SIGTERM")],
		"none",
	],
	["ended by itself before SIGKILL arrived", code, [ladder("SIGKILL")], "none"],
	[
		"ended by itself before the host's SIGKILL arrived",
		code,
		[cleanup],
		"none",
	],
	[
		"ended by the signal that asks for stacks",
		by("SIGUSR1"),
		[ladder("SIGUSR1"), ladder("SIGKILL")],
		"stop_ladder",
	],
	[
		"sent SIGKILL and still there",
		undefined,
		[ladder("SIGKILL")],
		"stop_ladder",
	],
	["still there, and sent nothing", undefined, [], "none"],
])("%s", (_what, exit, sent, killer) => {
	expect(killerOf(exit, sent)).toBe(killer);
});

test("a process whose parent was lost was killed by that, but for a signal of this program", () => {
	expect(killerOf(by("SIGKILL"), [], "guard")).toBe("guard");
	expect(killerOf(by("SIGSEGV"), [], "guard")).toBe("none");
	expect(killerOf(by("SIGKILL"), [ladder("SIGKILL")], "guard")).toBe(
		"stop_ladder",
	);
});

test("nothing but the loss of a parent has killed what it forked", () => {
	for (const [source, killer] of [
		["preload", "preloaded_parent"],
		["guard", "guard"],
	] as const) {
		expect(lostParentOf({ source, isParentLost: true })).toBe(killer);
		expect(lostParentOf({ source, isParentLost: false })).toBeUndefined();
		expect(lostParentOf({ source, isParentLost: undefined })).toBeUndefined();
	}
});
