import { expect, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import {
	formatRunName,
	parseRunFile,
	runNameOf,
	runPath,
} from "../../src/registry/run-name.ts";
import { machine } from "../cleanup/hosts.ts";

const name = runNameOf("abcdefg" as RunId, machine.self);

test("a file's name contains the run and the very process that owns it", () => {
	expect(formatRunName(name)).toMatch(
		new RegExp(`^abcdefg\\.${process.pid}-[0-9a-f]{16}$`),
	);
	expect(runPath("/d", name, "lock")).toBe(`/d/${formatRunName(name)}.lock`);
	for (const kind of ["db", "lock"] as const)
		expect(parseRunFile(`${formatRunName(name)}.${kind}`)).toEqual({
			name,
			kind,
		});
});

test.each([
	"",
	"notes.txt",
	"abcdefg.db",
	`${formatRunName(name)}.db-wal`,
	`${formatRunName(name)}.db.set-aside`,
	`x${formatRunName(name)}.db`,
	"ABCDEFG.1-0123456789abcdef.db",
	"abcdefg.1-0123456789abcde.db",
	"abcdefg.12345678901-0123456789abcdef.db",
])("%j is no file of a run", (fileName) => {
	expect(parseRunFile(fileName)).toBeUndefined();
});
