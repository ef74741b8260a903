import type { RunHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import { incidentsOf } from "../../src/runs/incidents.ts";

const worker = (reason: string, end: object = {}) => ({
	workerId: "w-1",
	pool: "p",
	identity: { pid: 7 },
	endedAt: 5,
	end: { reason, killer: "none", exit: undefined, ...end },
});

/** The texts of a run with these workers and incidents. */
function texts(run: object): readonly string[] {
	return incidentsOf({
		...{ runId: "abcdefg", workers: [], incidents: [], clean: true, killed: 0 },
		...run,
	} as unknown as RunHistory).map(({ text }) => text);
}

test("a worker that ended in order is no incident, any other is, with how, by whom and its last line", () => {
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
					tail: ["first", "\u001b[31mred"],
				}),
				{ ...worker("exited"), end: undefined },
			],
		}),
	).toEqual([
		"worker w-1 of p (pid 7): exited, exit status 3",
		"worker w-1 of p (pid 7): exited, SIGKILL, killed by unknown, last call mean, last line: \\x1b[31mred",
	]);
});

test("what a protection did, and the end of a host, are incidents", () => {
	expect(
		texts({
			incidents: [
				{
					...{ type: "protection.process_killed", wallMs: 3, ofRun: "abcdefg" },
					...{ protection: "guard", pid: 9, startTime: undefined },
				},
			],
			...{ clean: false, endedAt: 8, endedBy: "reaper:bcdefgh", killed: 2 },
		}),
	).toEqual([
		"protection process killed, protection guard, pid 9",
		"its host died: cleaned up by reaper:bcdefgh, 2 processes killed",
	]);
});
