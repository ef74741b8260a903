import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");
const page = readFileSync(join(ROOT, "docs/reference/options.md"), "utf8");

/** What each entry of a package exports, by its address; `generate` reads it from the sources. */
const exported = new Map<string, readonly string[]>();
for (const report of globSync("packages/*/api.md", { cwd: ROOT })) {
	const [list = ""] = readFileSync(join(ROOT, report), "utf8").split(
		"## Declarations",
	);
	for (const section of list.split(/^## /m).slice(1)) {
		const [address = "", ...lines] = section.split("\n");
		exported.set(
			address,
			lines.flatMap((line) => /^- `(\w+)`$/.exec(line)?.[1] ?? []),
		);
	}
}

/** The rows of all tables of a part of the page, as cells. */
function rowsOf(part: string): readonly (readonly string[])[] {
	return [...part.matchAll(/^\| (`.*) \|$/gm)].map(([, row = ""]) =>
		row.split(/(?<!\\) \| /),
	);
}

const [sections = "", types = ""] = page.split("\n## Types\n");
const ownType = /Type: `(\w+)` of `([^`]+)`\.$/gm;
/** The address of each type, as the page says it. */
const addresses = new Map(
	rowsOf(types).map(([name = "", address = ""]) => [
		name.replaceAll("`", ""),
		address.replaceAll("`", ""),
	]),
);

test("every type that the page of options names can be imported from where it says", () => {
	const named = new Set([
		...[...sections.matchAll(ownType)].map(([, name = ""]) => name),
		...rowsOf(sections).flatMap(
			([, type = ""]) =>
				type
					.replaceAll(/"[^"]*"/g, "")
					.replaceAll(/\]\(.*?\)/g, "")
					.match(/\b[A-Z]\w*(?:Options|Adapter|Listener|Protection|Slot)\b/g) ??
				[],
		),
	]);
	expect(named.size).toBeGreaterThan(50);
	expect([...named].filter((name) => !addresses.has(name))).toEqual([]);
	const missing = [...addresses].filter(
		([name, address]) =>
			address.startsWith("@snakepit/") &&
			exported.get(address)?.includes(name) !== true,
	);
	expect(missing).toEqual([]);
	const wrong = [...sections.matchAll(ownType)].filter(
		([, name = "", address = ""]) =>
			exported.get(address)?.includes(name) !== true,
	);
	expect(wrong.map(([text]) => text)).toEqual([]);
});

test("every type of options that a package exports has a section, and the groups of its options too", () => {
	const described = new Set(
		[...sections.matchAll(ownType)].map(([, name]) => name),
	);
	const all = [...exported]
		.filter(([address]) => address !== "@snakepit/core/testing")
		.flatMap(([, names]) => names)
		// It is what an adapter is given.
		.filter((name) => name !== "CallOptions");
	const missing = all.filter(
		(name) => /^[A-Z]\w*Options$/.test(name) && !described.has(name),
	);
	expect(missing).toEqual([]);
	for (const name of ["DashboardOptions", "CallSpans", "CommandTelemetry"])
		expect(described).toContain(name);
});
