import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Random } from "../../src/contract/clock.ts";
import { generateRunId } from "../../src/contract/identity.ts";
import { thisProgram } from "../../src/os/this-program.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { type NewRunParts, openNewRun } from "../../src/registry/run-file.ts";
import { runNameOf, runPath } from "../../src/registry/run-name.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { sqlite } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

class Fractions implements Random {
	readonly #fractions: number[];

	/** @param fractions the last one again and again. */
	constructor(...fractions: number[]) {
		this.#fractions = fractions;
	}

	fraction(): number {
		return (
			(this.#fractions.length > 1
				? this.#fractions.shift()
				: this.#fractions[0]) ?? 0
		);
	}

	token(): string {
		return "";
	}
}

const clock = new VirtualClock();

function parts(
	random: Random,
	fields: Partial<NewRunParts> = {},
): NewRunParts & { readonly removed: string[] } {
	const removed: string[] = [];
	return {
		sqlite,
		directory: new LedgerDirectory(temporaryDirectory()),
		owner: machine.self,
		program: thisProgram("recorded"),
		clock,
		random,
		makeRunDirectory: (runId) => `/nowhere/${runId}`,
		removeFiles: (paths) => {
			removed.push(...paths);
			machine.remove(paths);
		},
		removed,
		...fields,
	};
}

const idOf = (fraction: number): ReturnType<typeof generateRunId> =>
	generateRunId(clock.wall(), new Fractions(fraction));

test("an id that another process has, living or over, is drawn again", async () => {
	const given = parts(new Fractions(0.1, 0.2, 0.3, 0.4));
	const { runs, history } = given.directory;
	writeFileSync(runPath(runs, runNameOf(idOf(0.1), deadOwner()), "lock"), "");
	writeFileSync(runPath(history, runNameOf(idOf(0.2), deadOwner()), "db"), "");
	// This process's own, of another thread.
	writeFileSync(runPath(runs, runNameOf(idOf(0.3), machine.self), "lock"), "");
	const { run, file, lock } = await openNewRun(given);
	expect(run.runId).toBe(idOf(0.4));
	expect(
		readdirSync(runs).filter((name) => name.startsWith(idOf(0.2))),
	).toEqual([]);
	file.close("goes_on");
	lock.release("removed");
});

test("when every id is taken that is a clear error, and nothing is left", async () => {
	const given = parts(new Fractions(0.5));
	const { runs } = given.directory;
	writeFileSync(runPath(runs, runNameOf(idOf(0.5), deadOwner()), "db"), "");
	await expect(openNewRun(given)).rejects.toMatchObject({
		code: "REGISTRY_LOCKED",
		message: expect.stringContaining("dataDir"),
	});
	expect(readdirSync(runs).length).toBe(1);
});

test("where files cannot be made that is a clear error", async () => {
	const given = parts(new Fractions(0.5));
	machine.remove([given.directory.runs]);
	await expect(openNewRun(given)).rejects.toMatchObject({
		code: "REGISTRY_UNWRITABLE",
	});
});

test("when its directory cannot be made, nothing of the run is left", async () => {
	const error = new Error("no place for sockets");
	const given = parts(new Fractions(0.5), {
		makeRunDirectory: () => {
			throw error;
		},
	});
	await expect(openNewRun(given)).rejects.toBe(error);
	expect(readdirSync(given.directory.runs)).toEqual([]);
});

test("when its file cannot be made, neither its lock nor its directory is left", async () => {
	const given = parts(new Fractions(0.5));
	const path = runPath(
		given.directory.runs,
		runNameOf(idOf(0.5), machine.self),
		"db",
	);
	mkdirSync(path);
	await expect(openNewRun(given)).rejects.toMatchObject({
		name: "RegistryError",
	});
	expect(given.removed).toContain(`/nowhere/${idOf(0.5)}`);
	expect(readdirSync(given.directory.runs)).toEqual([]);
});
