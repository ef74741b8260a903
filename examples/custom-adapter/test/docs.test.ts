import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string =>
	readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

const sources = [
	"custom-adapter/src",
	"custom-adapter/test",
	"chromium/src",
].flatMap((folder) =>
	readdirSync(new URL(`../../${folder}/`, import.meta.url)).map((name) =>
		read(`examples/${folder}/${name}`),
	),
);
const snippets = [
	...read("docs/writing-an-adapter.md").matchAll(/^```ts\n([\s\S]*?)^```$/gm),
].map(([, code = ""]) => ({ begins: code.trim().split("\n")[0], code }));

test("writing-an-adapter.md has snippets", () => {
	expect(snippets.length).toBeGreaterThan(4);
});

test.each(snippets)(
	"its snippet `$begins` is part of an example",
	({ code }) => {
		expect(sources.some((source) => source.includes(code))).toBe(true);
	},
);

test("it has as many lines as the pages state, all files of the adapter together", () => {
	const files = ["json-rpc-adapter.ts", "json-rpc-peer.ts"];
	const lines = files
		.map((name) => read(`examples/custom-adapter/src/${name}`))
		.reduce((sum, text) => sum + text.trimEnd().split("\n").length, 0);
	for (const page of ["docs/writing-an-adapter.md", "packages/core/README.md"])
		expect(read(page)).toMatch(new RegExp(`\\b${lines} lines\\b`));
});

test("the program knows nothing of Snakepit", () => {
	const program = read("examples/custom-adapter/program/text-tools.mjs");
	const code = program.replace(/^\s*\/\/.*$/gm, "");
	expect(code).not.toMatch(/snakepit/i);
	expect([...code.matchAll(/from "([^"]+)"/g)].map(([, name]) => name)).toEqual(
		["node:readline"],
	);
});
