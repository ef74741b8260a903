import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf, sourceFiles } from "./source-imports.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const SRC = join(import.meta.dirname, "../../src");

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

function edgesOf(pairs: readonly (readonly [string, string])[]): Edges {
	const edges = new Map<string, Set<string>>();
	for (const [from, to] of pairs) {
		const targets = edges.get(from) ?? new Set();
		edges.set(from, targets.add(to));
	}
	return edges;
}

const PAGE = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");

/** What is below a heading of the page. */
function sectionOf(heading: string): string {
	return PAGE.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
}

/** The arrows of the diagram below a heading. */
function picture(heading: string): Edges {
	const section = sectionOf(heading);
	const [, diagram = ""] = /```mermaid\n([\s\S]*?)```/.exec(section) ?? [];
	return edgesOf(
		[...diagram.matchAll(/^\s*([\w-]+)(?:\[.*?\])? --> ([\w-]+)/gm)].map(
			([, from = "", to = ""]) => [from, to],
		),
	);
}

/** Every pair of which the first needs the second, directly or through others. */
function needs(edges: Edges): readonly string[] {
	const pairs = [...edges.keys()].flatMap((from) => {
		const reached = new Set<string>();
		const visit = (node: string): void => {
			for (const next of edges.get(node) ?? [])
				if (!reached.has(next)) {
					reached.add(next);
					visit(next);
				}
		};
		visit(from);
		return [...reached].map((to) => `${from} needs ${to}`);
	});
	return pairs.sort();
}

/** Arrows of the picture that other arrows imply already. */
function redundant(edges: Edges): readonly string[] {
	return [...edges].flatMap(([from, targets]) =>
		[...targets]
			.filter((to) => {
				const others = new Map(edges);
				others.set(from, new Set([...targets].filter((it) => it !== to)));
				return needs(others).includes(`${from} needs ${to}`);
			})
			.map((to) => `${from} --> ${to}`),
	);
}

function packages(): Edges {
	const short = (name: string): string => name.replace("@snakepit/", "");
	return edgesOf(
		globSync("packages/*/package.json", { cwd: ROOT }).flatMap((file) => {
			const manifest = JSON.parse(readFileSync(join(ROOT, file), "utf8"));
			const names = Object.keys({
				...manifest.dependencies,
				...manifest.peerDependencies,
				...manifest.optionalDependencies,
			});
			return names
				.filter((name) => name.startsWith("@snakepit/"))
				.map(short)
				.filter((name) => !name.startsWith("native-"))
				.map((name) => [short(manifest.name), name] as const);
		}),
	);
}

function foldersOfCore(): Edges {
	const folder = (path: string): string => path.split("/")[0] ?? "";
	return edgesOf(
		sourceFiles(SRC)
			.flatMap((file) => importsOf(SRC, file))
			.filter(({ kind, typeOnly }) => kind === "file" && !typeOnly)
			.map(({ from, to }) => [folder(from), folder(to)] as const)
			.filter(([from, to]) => from !== to && to !== "gen")
			.filter((pair) => !pair.some((name) => name.endsWith(".ts"))),
	);
}

describe.each([
	{ heading: "The packages", code: packages() },
	{ heading: "The folders of core", code: foldersOfCore() },
])("the picture of $heading", ({ heading, code }) => {
	const drawn = picture(heading);

	test("has an arrow or a path for everything that the code imports, and no other", () => {
		expect(needs(drawn)).toEqual(needs(code));
	});

	test("has no arrow that others imply", () => {
		expect(redundant(drawn)).toEqual([]);
	});
});

/** Where a path of the page may begin. */
const BASES = ["", "packages/core/src", "python/src/snakepit_bridge"];

test.each(["The life of a call", "The death of a host"])(
	"every file that the walk %j names is there",
	(heading) => {
		const paths = [
			...sectionOf(heading).matchAll(/`([\w/.-]+\.(?:ts|py|c))`/g),
		].map(([, path = ""]) => path);
		expect(paths.length).toBeGreaterThan(10);
		const absent = paths.filter(
			(path) => !BASES.some((base) => existsSync(join(ROOT, base, path))),
		);
		expect(absent).toEqual([]);
	},
);
