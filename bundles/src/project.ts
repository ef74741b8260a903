import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
	isNative,
	nativeOverrides,
	packPackages,
} from "../../scripts/pack-packages.ts";
import { installOne } from "../../scripts/packages-on-demand.ts";
import { environment } from "../../scripts/python-environment.ts";
import { must, root } from "../../scripts/run.ts";

const HERE = join(root, "bundles");
/** The configurations that these pages show, with the names of their files. */
const PAGES = ["docs/bundlers.md", "docs/single-executables.md"];
const BLOCK = /^```js bundled\n\/\/ (\S+)\n(.*?)^```$/gms;

/** The executable of a runtime, or why there is none here. */
export type Tool = { readonly path: string } | { readonly problem: string };

/** A user's project outside of the workspace: the packages as they are published, the bundlers, the program. It is removed when this program exits. */
export interface Project {
	/** Node 26, and Bun. */
	readonly node26: Tool;
	readonly bun: Tool;
	readonly directory: string;
	/** What its commands and its programs have as environment. */
	readonly env: NodeJS.ProcessEnv;
	/** Copies what was built to a directory where of `node_modules` only these packages are. */
	deploy(built: string, packages: readonly string[]): string;
}

/**
 * Makes the project: installs the packed packages, and bundlers in the versions of `bundles/package.json`.
 *
 * @param bundlers those that are needed.
 */
export function makeProject(bundlers: ReadonlySet<string>): Project {
	const parent = mkdtempSync(join(tmpdir(), "sp-b-"));
	process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
	const directory = join(parent, "project");
	const venv = join(parent, "venv");
	// Without NODE_PATH, by which Node would find the packages of this workspace from anywhere.
	const { NODE_PATH: _, ...inherited } = process.env;
	const env = {
		...inherited,
		NEXT_TELEMETRY_DISABLED: "1",
		VIRTUAL_ENV: venv,
		TOOLS: join(directory, "tools.py"),
		LEDGER: join(parent, "ledger"),
	};
	cpSync(join(HERE, "program"), directory, { recursive: true });
	const packed = packPackages(parent);
	const manifest = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
	const { "@opentelemetry/api": telemetry, ...others } = manifest.dependencies;
	const needed = Object.entries(others).filter(([name]) => bundlers.has(name));
	writeFileSync(
		join(directory, "package.json"),
		JSON.stringify({
			...manifest,
			dependencies: {
				"@opentelemetry/api": telemetry,
				...Object.fromEntries(needed),
			},
			overrides: nativeOverrides(packed),
		}),
	);
	// What is built is what the pages show.
	const pages = PAGES.map((page) => readFileSync(join(root, page), "utf8"));
	for (const [, name = "", text = ""] of pages.join("\n").matchAll(BLOCK))
		writeFileSync(join(directory, name), text);

	const tarballs = packed
		.filter((each) => !isNative(each))
		.map(({ tarball }) => tarball);
	const quietly = ["--ignore-scripts", "--no-audit", "--no-fund"];
	must("npm", ["install", ...quietly, ...tarballs], { cwd: directory, env });
	environment(venv, [`${join(root, "python")}[grpc]`]);

	let deployed = 0;
	return {
		directory,
		env,
		get node26() {
			const { node } = manifest.runtimes;
			return runtime(`node-linux-${process.arch}`, node, "bin/node");
		},
		get bun() {
			const { bun } = manifest.runtimes;
			const processor = process.arch === "arm64" ? "aarch64" : process.arch;
			return runtime(`@oven/bun-linux-${processor}`, bun, "bin/bun");
		},
		deploy(built, packages) {
			deployed += 1;
			const target = join(parent, `deployed-${deployed}`);
			cpSync(join(directory, built), target, { recursive: true });
			cpSync(join(directory, "package.json"), join(target, "package.json"));
			for (const name of packages) {
				const link = join(target, "node_modules", name);
				mkdirSync(dirname(link), { recursive: true });
				symlinkSync(join(directory, "node_modules", name), link);
			}
			return target;
		},
	};
}

/** Installs the package that holds the executable of a runtime; the package that users name would run a script to choose it. */
function runtime(name: string, version: string, file: string): Tool {
	const { directory, problem } = installOne(name, version, "runtimes");
	return problem === undefined
		? { path: join(directory, "node_modules", name, file) }
		: { problem };
}
