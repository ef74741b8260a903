import Database from "better-sqlite3";
import type { WorkerRecord } from "../../src/contract/process-registry.ts";
import {
	type CraftedRun,
	craftRun,
	deadOwner,
	workerRow,
} from "../cleanup/crafted-run.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

/** Rows of every kind. */
export function everyRow(runId: string): readonly WorkerRecord[] {
	const identity = deadOwner({ pid: 77 });
	return [
		workerRow(runId, {
			incarnation: "z",
			status: "reserved",
			activatedAt: undefined,
			files: ["/a", "b\n"],
		}),
		workerRow(runId, { incarnation: "y", identity, groupId: 77 }),
		workerRow(runId, {
			incarnation: "x",
			status: "ended",
			identity,
			endedAt: 3.5,
			end: {
				exit: { kind: "code", code: 0 },
				reason: "exited",
				killer: "none",
			},
		}),
		workerRow(runId, {
			incarnation: "w",
			status: "ended",
			end: {
				exit: { kind: "signal", signal: "SIGKILL" },
				reason: "hung",
				killer: "stop_ladder",
			},
		}),
		workerRow(runId, {
			incarnation: "v",
			status: "ended",
			end: { exit: undefined, reason: "vanished", killer: "unknown" },
		}),
	];
}

export function crafted(): Promise<CraftedRun> {
	return craftRun(temporaryDirectory(), deadOwner(), {}, everyRow);
}

export function change(path: string, statement: string): void {
	const database = new Database(path);
	database.exec(statement);
	database.close();
}
