import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
	circles,
	codeOf,
	type Import,
	importsIn,
	importsOf,
	runTimeCycle,
	sourceFiles,
	withoutComments,
} from "./source-imports.ts";

const SRC = join(import.meta.dirname, "../../src");

/** What every folder may use. */
const BASE: readonly string[] = [
	"contract",
	"options",
	"deadline.ts",
	"outbox.ts",
];

/** A folder, or a file at the root: what is in it, and what else it may import. Outer ones come later. */
interface Room {
	readonly holds: string;
	readonly uses: readonly string[];
}

const ROOMS: Readonly<Record<string, Room>> = {
	contract: {
		holds:
			"what adapters, protections, instruments and listeners see: interfaces, events, errors",
		uses: [],
	},
	options: {
		holds: "the options of a pool and of programs: types, defaults, checks",
		uses: ["contract"],
	},
	"deadline.ts": { holds: "promises with a time limit", uses: ["contract"] },
	"outbox.ts": {
		holds: "events wait here until a change is complete",
		uses: [],
	},
	os: {
		holds: "the operating system: processes, signals, timers, files",
		uses: BASE,
	},
	guard: {
		holds: "the native processes that end a run's workers with its host",
		uses: [...BASE, "os"],
	},
	heartbeat: { holds: "whether a worker hangs", uses: BASE },
	process: {
		holds: "one process of a run: how it is started, read and stopped",
		uses: BASE,
	},
	worker: {
		holds: "one worker: its start, its calls, its end",
		uses: [...BASE, "heartbeat", "process"],
	},
	registry: {
		holds: "the ledger of processes in SQLite",
		uses: [...BASE, "os"],
	},
	cleanup: {
		holds: "what dead runs left: found, proven and ended",
		uses: [...BASE, "registry", "os"],
	},
	audit: {
		holds: "the ledger compared with the process table",
		uses: [...BASE, "registry", "cleanup"],
	},
	job: {
		holds: "one program that runs to its end",
		uses: [...BASE, "process"],
	},
	preload: {
		holds: "the preloaded parent that forks the workers of a pool",
		uses: [...BASE, "os", "process", "worker"],
	},
	companion: {
		holds: "the process that all workers of a pool need",
		uses: [...BASE, "process", "worker"],
	},
	pool: {
		holds: "calls, queues and workers of one pool",
		uses: [...BASE, "heartbeat", "process", "worker"],
	},
	run: {
		holds: "what pools and jobs of a program share, and how it ends",
		uses: [
			...BASE,
			...["registry", "cleanup", "audit", "os", "guard", "process"],
			...["worker", "job", "preload", "companion", "pool"],
		],
	},
	inspect: {
		holds: "doctor, history, and what ran here before",
		uses: [...BASE, "registry", "cleanup", "run", "os", "guard"],
	},
	testing: {
		holds: "the contract of adapters, and a virtual world for tests",
		uses: [
			...BASE,
			...["os", "heartbeat", "worker", "registry", "preload"],
			...["companion", "cleanup", "run", "pool"],
		],
	},
	"index.ts": {
		holds: "what an application needs",
		uses: [...BASE, "cleanup", "job", "pool", "run"],
	},
	"adapter.ts": { holds: "what an adapter needs", uses: BASE },
	"control.ts": { holds: "types of a running pool's changes", uses: ["pool"] },
	"infrastructure.ts": {
		holds: "processes of this machine, without a pool",
		uses: [...BASE, "cleanup", "heartbeat", "os"],
	},
	"inspect.ts": {
		holds: "doctor, history, dead runs",
		uses: [...BASE, "cleanup", "inspect", "registry"],
	},
	"jobs.ts": { holds: "types of jobs", uses: ["job", "run"] },
	"registry.ts": {
		holds: "the ledger, without a pool",
		uses: [...BASE, "audit", "cleanup", "registry", "run"],
	},
	"testing.ts": { holds: "what tests of users need", uses: ["testing"] },
	"text.ts": { holds: "text of workers, for display", uses: ["contract"] },
	"tools.ts": { holds: "types of a pool's commands", uses: ["pool"] },
};

/** A room at the root is an entry of the package, or used by nearly all. */
const MOST_LOOSE_FILES = 12;

/** Types that imply each other may be in so many files. */
const LARGEST_CIRCLE = 3;

/** Interfaces of the contract that are written down beside what implements them; as types they are everybody's. */
const SPOKEN_OF: readonly string[] = [
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

/** A folder, or a file at the root. */
function roomOf(path: string): string {
	return path.split("/")[0] ?? "";
}

function arrow({ from, to }: Import): string {
	return `${from} -> ${to}`;
}

describe("in core", () => {
	test("every folder and every file at the root is a room of the table, and is there", () => {
		expect(new Set(files.map(roomOf))).toEqual(new Set(Object.keys(ROOMS)));
	});

	test("few files are loose", () => {
		const loose = files.filter((file) => !file.includes("/"));
		expect(loose.length).toBeLessThanOrEqual(MOST_LOOSE_FILES);
	});

	test("no circle of imports has more than three files, those of types included", () => {
		const large = circles(imports).filter(
			(circle) => circle.length > LARGEST_CIRCLE,
		);
		expect(large).toEqual([]);
	});

	test("imports point inward only", () => {
		const offending = imports.filter(({ from, to, kind, typeOnly }) => {
			if (kind === "package" || roomOf(from) === roomOf(to)) return false;
			if (typeOnly && SPOKEN_OF.includes(to)) return false;
			return !ROOMS[roomOf(from)]?.uses.includes(roomOf(to));
		});
		expect(offending.map(arrow)).toEqual([]);
	});

	test("the table itself has no circle", () => {
		const cycle = runTimeCycle(
			Object.entries(ROOMS).flatMap(([from, { uses }]) =>
				uses.map(
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
			(file) => !layers.includes(roomOf(file)) && code.test(codeOf(SRC, file)),
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

	test("finds the largest circles", () => {
		const link = (from: string, to: string): Import => ({
			...{ from, to, kind: "file", typeOnly: true, star: false },
		});
		expect(
			circles([
				...[link("a", "b"), link("b", "c"), link("c", "a"), link("c", "d")],
				...[link("d", "e"), link("e", "d"), link("e", "f")],
			]),
		).toEqual([
			["a", "b", "c"],
			["d", "e"],
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
