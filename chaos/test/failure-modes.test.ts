import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CASES } from "../src/cases.ts";
import { rayCluster } from "../src/families/ray.ts";

const ROOT = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/failure-modes.md", ROOT), "utf8");
const names = [...CASES, ...rayCluster].map(
	({ row, name }) => `${row} | ${name}`,
);

/** The last cell of every row of a table. */
const shown = page
	.split("\n")
	.filter((line) => line.startsWith("| ") && !line.startsWith("| what "))
	.map((line) => {
		const cells = line.split(" | ");
		return { what: cells[0] ?? "", by: cells[3]?.replace(/ \|$/, "") ?? "" };
	});

test("every way of dying names a test, and each test that is named is there", () => {
	expect(shown.length).toBeGreaterThan(40);
	for (const { what, by } of shown) {
		const files = [...by.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);
		const cases = [...by.matchAll(/chaos: "([^"]+)"/g)].map(
			([, part = ""]) => part,
		);
		expect(files.length + cases.length, what).toBeGreaterThan(0);
		for (const path of files)
			expect(existsSync(fileURLToPath(new URL(path, ROOT))), path).toBe(true);
		for (const part of cases)
			expect(
				names.some((name) => name.includes(part)),
				part,
			).toBe(true);
	}
});
