import { readFileSync, rmSync } from "node:fs";
import { rolldown } from "rolldown";
import { must } from "./run.ts";

// The build of one package, run in its directory: types file by file, code in a few files. Node takes a millisecond for
// each file that it loads, and Drizzle alone has a hundred (docs/decisions/0030).
//
// Arguments: source files that are programs by themselves.

/** Sources that become one file with everything that they import: what a program loads first, first. */
const LOADED_TOGETHER: Readonly<
	Record<string, readonly (readonly [name: string, sources: RegExp])[]>
> = {
	"@snakepit/core": [
		[
			"light",
			/src\/(index|adapter|control|jobs|tools|contract\/(instrument|protection)|options\/check)\.ts$/,
		],
		["infrastructure", /src\/infrastructure\.ts$/],
		["run", /src\/(run\/join-run|guard\/open-guard)\.ts$/],
	],
	"@snakepit/adapter-python": [
		["light", /src\/index\.ts$/],
		[
			"conversation",
			/src\/(transport|conversation\/conversation|channel\/socket-channel)\.ts$/,
		],
	],
};

/** What a package depends on for its types only, since it contains the code: two of nineteen modules (0030). */
const CONTAINED: Readonly<Record<string, string>> = {
	"@snakepit/adapter-grpc-python": "@bufbuild/protobuf",
};

interface Manifest {
	readonly name: string;
	readonly publishConfig: { readonly exports: Record<string, string> };
	readonly bin?: Record<string, string>;
	readonly dependencies?: Record<string, string>;
	readonly peerDependencies?: Record<string, string>;
	readonly optionalDependencies?: Record<string, string>;
}

const manifest: Manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { name, publishConfig, bin = {} } = manifest;
const published = [
	...Object.values(publishConfig.exports),
	...Object.values(bin),
]
	.map((path) => /^\.\/dist\/(.*)\.js$/.exec(path)?.[1])
	.filter((entry) => entry !== undefined);
const programs = process.argv
	.slice(2)
	.map((path) => path.replace(/^src\/|\.ts$/g, ""));

rmSync("dist", { recursive: true, force: true });
must("tsc", ["-p", "tsconfig.build.json", "--emitDeclarationOnly"], {
	cwd: process.cwd(),
});
const bundle = await rolldown({
	input: Object.fromEntries(
		[...published, ...programs].map((entry) => [entry, `src/${entry}.ts`]),
	),
	// What a package does not depend on at run time, it contains.
	external: isInstalled,
	platform: "node",
	// As bundlers resolve: core has Drizzle under "module".
	resolve: { conditionNames: ["module", "import", "node", "default"] },
	transform: { target: "node22" },
});
const { output } = await bundle.write({
	dir: "dist",
	format: "esm",
	entryFileNames: "[name].js",
	chunkFileNames: "[name]-[hash].js",
	codeSplitting: {
		groups: (LOADED_TOGETHER[name] ?? []).map(([name, test], index, all) => ({
			...{ name, test, priority: all.length - index },
		})),
	},
	sourcemap: true,
	sourcemapExcludeSources: true,
});
const contained = CONTAINED[name];
for (const file of output)
	if (
		file.type === "chunk" &&
		[...file.imports, ...file.dynamicImports].some(
			(id) => contained !== undefined && id.startsWith(contained),
		)
	)
		throw new Error(`${file.fileName} loads ${contained}, which it contains`);

function isInstalled(id: string): boolean {
	const { dependencies, peerDependencies, optionalDependencies } = manifest;
	return Object.keys({
		...dependencies,
		...peerDependencies,
		...optionalDependencies,
	})
		.filter((installed) => installed !== CONTAINED[name])
		.some((installed) => id === installed || id.startsWith(`${installed}/`));
}
