import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import {
	codeOf,
	type Import,
	importsOf,
	sourceFiles,
} from "./source-imports.ts";

const ROOT = join(import.meta.dirname, "../../../..");

/** What packages may use of each other: the entries of core. */
const ENTRIES: readonly string[] = Object.keys(
	JSON.parse(readFileSync(join(ROOT, "packages/core/package.json"), "utf8"))
		.exports,
).map((entry) => posix.join("@snakepit/core", entry));

/** Packages of which a user must not get more than was chosen: name, and who alone may have it. */
const ONLY_IN: readonly (readonly [RegExp, string])[] = [
	[/^@opentelemetry\//, "packages/telemetry"],
	[/^@grpc\//, "packages/adapter-grpc-python"],
	[/^@modelcontextprotocol\//, "packages/adapter-mcp"],
	[/^vscode-/, "packages/adapter-lsp"],
];

/** What the build puts into a package, so that it need not be installed: package, and what it contains. */
const CONTAINS: Readonly<Record<string, readonly string[]>> = {
	"packages/cli": ["commander"],
	"packages/core": ["drizzle-orm"],
};

interface Manifest {
	readonly name: string;
	readonly files?: readonly string[];
	readonly dependencies?: Readonly<Record<string, string>>;
	readonly peerDependencies?: Readonly<Record<string, string>>;
	readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const foldersOf = (parent: string): readonly string[] =>
	readdirSync(join(ROOT, parent))
		.map((name) => posix.join(parent, name))
		.filter((folder) => existsSync(join(ROOT, folder, "package.json")));

/** The names of the packages that are published. */
const PACKAGES = foldersOf("packages").map(
	(folder) => `@snakepit/${posix.basename(folder)}`,
);

/** What nobody installs: the repository's own programs. */
const programs = [...foldersOf("apps"), "bench", "chaos"];

/**
 * What breaks in a bundle: there a module has no file of its own, and as CommonJS
 * neither an address nor an `await` outside of functions. These look at the moment
 * at which they are asked, are programs by themselves, are not what a bundler reads,
 * or speak of it.
 */
const KNOW_THEIR_PLACE: readonly string[] = [
	"packages/adapter-python/src/values/arrow-table.ts",
	"packages/cli/src/command/packages.ts",
	"packages/cli/src/run/run.ts",
	"packages/cli/src/command/snakepit.ts",
	"packages/core/src/os/launcher.ts",
	"packages/core/src/registry/drizzle.ts",
	"packages/core/src/registry/sqlite.ts",
	"packages/watchdog/src/watchdog/program.ts",
	"packages/watchdog/src/watchdog/watchdog-process.ts",
];

/** What a package's sources import, and what its manifest asks for. */
function read(folder: string) {
	const manifest: Manifest = JSON.parse(
		readFileSync(join(ROOT, folder, "package.json"), "utf8"),
	);
	const source = join(ROOT, folder, "src");
	const files = existsSync(source) ? sourceFiles(source) : [];
	const imports = files.flatMap((file) => importsOf(source, file));
	const wanted = Object.keys({
		...manifest.dependencies,
		...manifest.peerDependencies,
		...manifest.optionalDependencies,
	});
	return { files, imports, wanted, shipped: manifest.files ?? [] };
}

function packagesOf(imports: readonly Import[]): readonly string[] {
	const names = imports
		.filter(({ to, kind }) => kind === "package" && !to.startsWith("node:"))
		.map(({ to }) =>
			to
				.split("/")
				.slice(0, to.startsWith("@") ? 2 : 1)
				.join("/"),
		);
	return [...new Set(names)];
}

describe.each([...foldersOf("packages"), ...foldersOf("examples")])(
	"%s",
	(folder) => {
		const { files, imports, wanted, shipped } = read(folder);
		const contained = CONTAINS[folder] ?? [];
		const allowed = ((): readonly string[] => {
			// They are programs without code of ours; npm installs the one that fits.
			const natives = PACKAGES.filter((name) =>
				name.startsWith("@snakepit/native-"),
			);
			// The server of control is loaded when somebody looks at a run.
			if (folder === "packages/core")
				return [...natives, "@snakepit/control", "@snakepit/control/server"];
			// It is a program that uses whatever there is.
			if (folder === "packages/cli")
				return [
					...ENTRIES,
					...PACKAGES,
					"@snakepit/adapter-mcp/server",
					"@snakepit/control/server",
				];
			// It reads requests and compares tokens as the server of control does, which core brings.
			if (folder === "packages/adapter-mcp")
				return [...ENTRIES, "@snakepit/control", "@snakepit/control/server"];
			// It brings a transport of its own.
			if (
				folder === "packages/adapter-grpc-python" ||
				folder === "packages/adapter-ray"
			)
				return [
					...ENTRIES,
					"@snakepit/adapter-python",
					"@snakepit/adapter-python/transport",
				];
			// Its messages are framed as those of other programs are.
			if (folder === "packages/adapter-lsp")
				return [
					...ENTRIES,
					"@snakepit/adapter-stdio",
					"@snakepit/adapter-stdio/adapter",
				];
			// An example is a user's program.
			if (!folder.startsWith("packages/")) return [...ENTRIES, ...PACKAGES];
			return ENTRIES;
		})();

		test("uses of the workspace what it may, and nothing deeper than the entry", () => {
			const used = [...wanted, ...imports.map(({ to }) => to)].filter((name) =>
				name.startsWith("@snakepit/"),
			);
			expect(used.filter((name) => !allowed.includes(name))).toEqual([]);
			expect(
				imports
					.filter(({ to, kind }) => kind === "file" && to.startsWith(".."))
					.map(({ from, to }) => `${from} -> ${to}`),
			).toEqual([]);
		});

		test("does not ask where its modules lie, and awaits nothing while it is loaded: it may be bundled", () => {
			const asks = /\bimport\.meta\b|\b__(dir|file)name\b|^(\S.*)?\bawait\b/m;
			const offending = files
				.filter((file) =>
					asks.test(
						// What a message says is not asked.
						codeOf(join(ROOT, folder, "src"), file).replaceAll(/`[^`]*`/g, ""),
					),
				)
				.map((file) => posix.join(folder, "src", file));
			expect(
				offending.filter(
					(file) =>
						file.startsWith("packages/") && !KNOW_THEIR_PLACE.includes(file),
				),
			).toEqual([]);
		});

		test("has its timers from Node, and not from a global that fake timers of a test replace", () => {
			const timer =
				/(?<![.\w"'`])(?:set|clear)(?:Timeout|Interval|Immediate)\(/;
			const offending = files.filter((file) => {
				const code = codeOf(join(ROOT, folder, "src"), file);
				return (
					/process\.nextTick\(|\bqueueMicrotask\(/.test(code) ||
					(timer.test(code) && !code.includes('"node:timers'))
				);
			});
			// A command has no tests in its process, and an example is a user's program.
			const isTested =
				folder !== "packages/cli" && folder.startsWith("packages/");
			expect(isTested ? offending : []).toEqual([]);
		});

		test("ships no test tools: only tests import them", () => {
			const offending = imports.filter(
				({ to }) =>
					to === "@snakepit/core/testing" ||
					to === "vitest" ||
					to === "fast-check",
			);
			expect(offending.map(({ from, to }) => `${from} -> ${to}`)).toEqual([]);
		});

		test("imports no package that it does not ask for", () => {
			expect(
				packagesOf(imports).filter((name) => !wanted.includes(name)),
			).toEqual(contained);
		});

		test("has the licence of what it contains", () => {
			const isNative = folder.startsWith("packages/native-");
			// The static binary has parts of the C library and of its compiler.
			const names = isNative ? ["musl", "zig"] : contained;
			for (const name of names)
				expect(existsSync(join(ROOT, folder, `licenses/${name}.txt`))).toBe(
					true,
				);
			if (names.length > 0)
				expect(shipped).toEqual(expect.arrayContaining(["licenses"]));
		});

		test("brings neither gRPC nor OpenTelemetry unless the user chose them", () => {
			for (const [name, owner] of ONLY_IN) {
				if (folder === owner) continue;
				expect(
					[...wanted, ...imports.map(({ to }) => to)].filter((each) =>
						name.test(each),
					),
				).toEqual([]);
			}
		});

		test("has one index, and exports names one by one", () => {
			expect(files.filter((file) => file.endsWith("/index.ts"))).toEqual([]);
			expect(
				imports
					.filter(({ star }) => star)
					.map(({ from, to }) => `${from} -> ${to}`),
			).toEqual([]);
		});
	},
);

test("the page for contributors says which packages need which others", () => {
	const page = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
	const [, section = ""] = page.split("\n## Install from a clone\n");
	const rows = section.matchAll(
		/^\| ([a-z-]+) \| ([a-z-]+(?:, [a-z-]+)*) \|$/gm,
	);
	const said = [...rows].map(([, name = "", needs = ""]) => [
		name,
		needs.split(", "),
	]);
	const everybody = ["core", "control"];
	const needed = foldersOf("packages").flatMap((folder) => {
		const manifest = JSON.parse(
			readFileSync(join(ROOT, folder, "package.json"), "utf8"),
		);
		const optional = manifest.peerDependenciesMeta ?? {};
		const names = Object.keys({
			...manifest.dependencies,
			...manifest.peerDependencies,
		})
			.filter((name) => PACKAGES.includes(name) && !(name in optional))
			.map((name) => posix.basename(name))
			.filter((name) => !everybody.includes(name));
		return names.length === 0 ? [] : [[posix.basename(folder), names.sort()]];
	});
	expect(said).toEqual(needed);
});

test("the Python package, which is built without this folder, has the licence", () => {
	const [ours, its] = ["LICENSE", "python/LICENSE"].map((file) =>
		readFileSync(join(ROOT, file), "utf8"),
	);
	expect(its).toBe(ours);
});

describe.each(programs)("%s", (folder) => {
	const { imports, wanted } = read(folder);

	// The root has some of them too: then an import works that nobody asked for.
	test("imports no package that it does not ask for", () => {
		expect(
			packagesOf(imports).filter((name) => !wanted.includes(name)),
		).toEqual([]);
	});
});

describe.each(foldersOf("apps"))("%s", (folder) => {
	const { imports } = read(folder);

	test("reaches for no source of a package by its path, as a user could not", () => {
		expect(
			imports
				.filter(
					({ to, kind }) =>
						kind === "file" && /(^|\/)packages\/[^/]+\/src\//.test(to),
				)
				.map(({ from, to }) => `${from} -> ${to}`),
		).toEqual([]);
	});
});
