import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	codeOf,
	type Import,
	importsIn,
	importsOf,
	runTimeCycle,
	sourceFiles,
	withoutComments,
} from "./source-imports.ts";

const SRC = join(import.meta.dirname, "../../src");

/**
 * Who may import whom. `vocabulary` is every file at the root that is not
 * listed here as an entry; the others are folders. Outer layers come later.
 */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
	vocabulary: [],
	os: ["vocabulary"],
	guard: ["vocabulary", "os"],
	heartbeat: ["vocabulary"],
	process: ["vocabulary"],
	worker: ["vocabulary", "heartbeat", "process"],
	registry: ["vocabulary", "os"],
	cleanup: ["vocabulary", "registry", "os"],
	audit: ["vocabulary", "registry", "cleanup"],
	job: ["vocabulary", "process"],
	preload: ["vocabulary", "os", "process", "worker"],
	companion: ["vocabulary", "process", "worker"],
	pool: ["vocabulary", "heartbeat", "process", "worker"],
	run: [
		"vocabulary",
		"registry",
		"cleanup",
		"audit",
		"os",
		"guard",
		"process",
		"worker",
		"job",
		"preload",
		"companion",
		"pool",
	],
	inspect: ["vocabulary", "registry", "cleanup", "run", "os", "guard"],
	testing: [
		"vocabulary",
		"os",
		"heartbeat",
		"worker",
		"registry",
		"preload",
		"companion",
		"cleanup",
		"run",
		"pool",
	],
	"index.ts": ["vocabulary", "cleanup", "job", "pool", "run"],
	"control.ts": ["pool"],
	"infrastructure.ts": ["vocabulary", "cleanup", "heartbeat", "os"],
	"inspect.ts": ["cleanup", "inspect"],
	"jobs.ts": ["job", "run"],
	"registry.ts": ["audit", "cleanup", "registry", "run"],
	"testing.ts": ["testing"],
	"tools.ts": ["pool"],
};

/** Interfaces of the vocabulary that are written down beside what implements them; as types they are everybody's. */
const SPOKEN_OF: readonly string[] = [
	"registry/process-registry.ts",
	"cleanup/cleanup-strategy.ts",
	"cleanup/cleanup-report.ts",
	"audit/auditor.ts",
];

/** What only some layers may touch: a piece of code, and the layers that may have it. */
const RESERVED: readonly {
	readonly what: string;
	readonly code: RegExp;
	readonly in: readonly string[];
}[] = [
	{
		what: "child processes",
		code: /"node:child_process"/,
		in: ["os", "guard"],
	},
	{ what: "signals", code: /process\.kill\b/, in: ["os"] },
	{
		what: "the process file system",
		code: /["'`]\/proc\b/,
		in: ["os", "guard"],
	},
	{
		what: "timers",
		code: /\bset(Timeout|Interval|Immediate)\b|"node:timers/,
		in: ["os", "testing"],
	},
	{
		what: "the wall clock",
		code: /\bDate\b|\bperformance\.now\b|\bhrtime\b/,
		in: ["os", "testing"],
	},
	{
		what: "chance",
		code: /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/,
		in: ["os"],
	},
	{
		what: "the host's own events",
		code: /(?<![.\w])process\.(on|once|exit)\(/,
		in: ["os"],
	},
	{
		what: "the ledger's database",
		code: /"(better-sqlite3|drizzle-orm)/,
		in: ["registry"],
	},
];

const files = sourceFiles(SRC);
const imports = files
	.flatMap((file) => importsOf(SRC, file))
	// Generated, as lists of what the vocabulary has.
	.filter(({ to }) => !to.startsWith("gen/"));

function layerOf(path: string): string {
	const [folder = "", ...rest] = path.split("/");
	return rest.length > 0 || folder in ARROWS ? folder : "vocabulary";
}

function arrow({ from, to }: Import): string {
	return `${from} -> ${to}`;
}

describe("in core", () => {
	test("every folder is a layer of the table", () => {
		expect(files.map(layerOf).filter((layer) => !(layer in ARROWS))).toEqual(
			[],
		);
	});

	test("imports point inward only", () => {
		const offending = imports.filter(({ from, to, kind, typeOnly }) => {
			if (kind === "package" || layerOf(from) === layerOf(to)) return false;
			if (typeOnly && SPOKEN_OF.includes(to)) return false;
			return !ARROWS[layerOf(from)]?.includes(layerOf(to));
		});
		expect(offending.map(arrow)).toEqual([]);
	});

	test("the table itself has no circle", () => {
		const cycle = runTimeCycle(
			Object.entries(ARROWS).flatMap(([from, targets]) =>
				targets.map(
					(to): Import => ({
						from,
						to,
						kind: "file",
						typeOnly: false,
						star: false,
					}),
				),
			),
		);
		expect(cycle).toBeUndefined();
	});

	test("every import names a file that exists", () => {
		expect(
			imports
				.filter(({ to, kind }) => kind === "file" && !files.includes(to))
				.map(arrow),
		).toEqual([]);
	});

	test("no circle of imports exists at run time", () => {
		expect(runTimeCycle(imports)?.join(" -> ")).toBeUndefined();
	});

	test.each(RESERVED)("only $in has $what", ({ code, in: layers }) => {
		const offending = files.filter(
			(file) => !layers.includes(layerOf(file)) && code.test(codeOf(SRC, file)),
		);
		expect(offending).toEqual([]);
	});

	test("names are exported one by one, from one index", () => {
		expect(imports.filter(({ star }) => star).map(arrow)).toEqual([]);
		expect(files.filter((file) => /(^|\/)index\.ts$/.test(file))).toEqual([
			"index.ts",
		]);
	});

	test("a user downloads SQLite and our server with it and nothing else: the build puts Drizzle in", () => {
		const manifest = JSON.parse(
			readFileSync(join(SRC, "../package.json"), "utf8"),
		);
		expect(Object.keys(manifest.dependencies)).toEqual([
			"@snakepit/control",
			"better-sqlite3",
		]);
		expect(manifest.peerDependencies).toBeUndefined();
		const packages = imports
			.filter(({ to, kind }) => kind === "package" && !to.startsWith("node:"))
			.map(({ to }) => to);
		expect(
			packages.filter(
				(name) =>
					!/^(better-sqlite3|drizzle-orm|@snakepit\/control)(\/|$)/.test(name),
			),
		).toEqual([]);
	});
});

describe("reading imports", () => {
	test("tells what remains at run time from what does not", () => {
		const code = withoutComments(`
// import { no } from "./comment.ts";
/* import { no } from "./comment.ts"; */
import { a } from "./a.ts"; // Not "// ./comment.ts".
import type { B } from "./b.ts";
import { type C1, type C2 } from "./c.ts";
import {
	d,
	type D,
} from "./d.ts";
export * from "./e.ts";
export { f } from "../f.ts";
import type * as g from "g";
import "./h.ts";
const i = await import("./i.ts");
type J = import("./j.ts").J;
import k from "k";
`);
		expect(
			importsIn("x/y.ts", code).map(
				({ to, typeOnly, star }) =>
					`${to}${typeOnly ? " type" : ""}${star ? " star" : ""}`,
			),
		).toEqual([
			"x/a.ts",
			"x/b.ts type",
			"x/c.ts type",
			"x/d.ts",
			"x/e.ts star",
			"f.ts",
			"g type",
			"k",
			"x/h.ts",
			"x/i.ts",
			"x/j.ts type",
		]);
	});

	test("finds a circle", () => {
		const link = (from: string, to: string): Import => ({
			from,
			to,
			kind: "file",
			typeOnly: false,
			star: false,
		});
		expect(
			runTimeCycle([link("a", "b"), link("b", "c"), link("c", "b")]),
		).toEqual(["b", "c", "b"]);
		expect(
			runTimeCycle([link("a", "b"), { ...link("b", "a"), typeOnly: true }]),
		).toBeUndefined();
	});
});
