import { spawnSync } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { packPackages } from "../../scripts/pack-packages.ts";
import { environment } from "../../scripts/python-environment.ts";
import { must, root } from "../../scripts/run.ts";

const HERE = join(root, "bundles");
/** The configurations that these pages show, with the names of their files. */
const PAGES = ["docs/bundlers.md", "docs/single-executables.md"];
const BLOCK = /^```js bundled\n\/\/ (\S+)\n(.*?)^```$/gms;
/** Not what a program depends on: core's optional dependencies. */
const NATIVE = /^@snakepit\/native-/;

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
	const natives = packed.filter(({ name }) => NATIVE.test(name));
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
			// As from a registry: npm installs the one that fits this machine, for core.
			overrides: Object.fromEntries(
				natives.map(({ name, tarball }) => [name, `file:${tarball}`]),
			),
		}),
	);
	// What is built is what the pages show.
	const pages = PAGES.map((page) => readFileSync(join(root, page), "utf8"));
	for (const [, name = "", text = ""] of pages.join("\n").matchAll(BLOCK))
		writeFileSync(join(directory, name), text);

	const tarballs = packed
		.filter((each) => !natives.includes(each))
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
			return runtime(`node-linux-${process.arch}`, node, "bin/node", parent);
		},
		get bun() {
			const { bun } = manifest.runtimes;
			const processor = process.arch === "arm64" ? "aarch64" : process.arch;
			return runtime(`@oven/bun-linux-${processor}`, bun, "bin/bun", parent);
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
function runtime(
	name: string,
	version: string,
	file: string,
	parent: string,
): Tool {
	const prefix = join(parent, "runtimes", name);
	const path = join(prefix, "node_modules", name, file);
	if (existsSync(path)) return { path };
	mkdirSync(prefix, { recursive: true });
	const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
	const { status } = spawnSync(
		"npm",
		["install", ...flags, "--prefix", prefix, `${name}@${version}`],
		{ stdio: "inherit" },
	);
	return status === 0 && existsSync(path)
		? { path }
		: { problem: `${name}@${version} cannot be installed` };
}
