import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string =>
	readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const readme = read("README.md");

test("the snippets of its README are part of the main program", () => {
	const snippets = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)];
	expect(snippets).toHaveLength(2);
	for (const [, code = ""] of snippets)
		expect(read("src/main.ts")).toContain(code);
});

test("the adapter has as many lines as the README states", () => {
	const lines = read("src/chromium-adapter.ts").trimEnd().split("\n").length;
	expect(readme).toContain(`has ${lines} lines`);
});
