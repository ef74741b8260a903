import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { withClassNames } from "./class-names.ts";
import { must } from "./run.ts";

// The build of one package, run in its directory: types file by file, code in a few files. Node takes a millisecond for
// each file that it loads, and Drizzle alone has a hundred (docs/decisions/0030).
//
// Arguments: source files that are programs by themselves.

interface Manifest {
	readonly publishConfig: { readonly exports: Record<string, string> };
	readonly bin?: Record<string, string>;
}

const { publishConfig, bin = {} }: Manifest = JSON.parse(
	readFileSync("package.json", "utf8"),
);
const published = [
	...Object.values(publishConfig.exports),
	...Object.values(bin),
];
const sources = published
	.map((path) => /^\.\/dist\/(.*)\.js$/.exec(path)?.[1])
	.filter((name) => name !== undefined)
	.map((name) => join("src", `${name}.ts`));

rmSync("dist", { recursive: true, force: true });
must("tsc", ["-p", "tsconfig.build.json", "--emitDeclarationOnly"], {
	cwd: process.cwd(),
});
const { outputFiles } = await build({
	write: false,
	entryPoints: [...sources, ...process.argv.slice(2)],
	outbase: "src",
	outdir: "dist",
	bundle: true,
	// What a package does not depend on at run time, it contains.
	external: runTimeDependencies(),
	splitting: true,
	format: "esm",
	platform: "node",
	target: "node22",
	sourcemap: true,
	sourcesContent: false,
	logLevel: "warning",
});
for (const { path, text } of outputFiles) {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, path.endsWith(".js") ? withClassNames(text) : text);
}

function runTimeDependencies(): string[] {
	const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
		readFileSync("package.json", "utf8"),
	);
	return Object.keys({
		...dependencies,
		...peerDependencies,
		...optionalDependencies,
	});
}
