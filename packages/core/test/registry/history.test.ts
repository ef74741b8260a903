import {
	mkdirSync,
	readdirSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	boundHistory,
	type HistoryFile,
	surplusHistory,
} from "../../src/registry/history.ts";
import { LedgerDirectory } from "../../src/registry/ledger-directory.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

test("the newest are kept up to a number, and none that is too old", () => {
	const files: HistoryFile[] = [30, 10, 20, 40].map((modifiedAt) => ({
		fileName: String(modifiedAt),
		modifiedAt,
	}));
	expect(surplusHistory(files, 40, { runs: 2, ageMs: 100 })).toEqual([
		"20",
		"10",
	]);
	expect(surplusHistory(files, 40, { runs: 10, ageMs: 15 })).toEqual([
		"20",
		"10",
	]);
});

test("files beyond the bound are removed; one that cannot be removed, or is already gone, is not a failure", () => {
	const directory = new LedgerDirectory(temporaryDirectory());
	const old = new Date(2020, 1, 1);
	for (const name of ["old", "new"])
		writeFileSync(join(directory.history, name), "");
	mkdirSync(join(directory.history, "cannot-be-unlinked"));
	for (const name of ["old", "cannot-be-unlinked"])
		utimesSync(join(directory.history, name), old, old);
	symlinkSync("/nowhere", join(directory.history, "gone"));
	boundHistory(directory, Date.now(), { runs: 200, ageMs: 86_400_000 });
	expect(readdirSync(directory.history)).toEqual([
		"cannot-be-unlinked",
		"gone",
		"new",
	]);
});
