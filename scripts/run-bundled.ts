import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const EXTENSIONS = { esm: "mjs", cjs: "cjs" } as const;

/** How a program is bundled, and what lies beside the bundle. */
export interface Bundling {
	/** Its source. */
	readonly program: string;
	readonly format: keyof typeof EXTENSIONS;
	readonly external: readonly string[];
	/** Packages that are installed where the bundle runs: their names, and where they are. */
	readonly installed: Readonly<Record<string, string>>;
	/** An empty directory, for the bundle. */
	readonly directory: string;
}

/** How a bundled program ended. */
export interface BundledRun {
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** Bundles a program of this workspace from its sources by esbuild, and runs it with the path of a ledger. */
export async function runBundled({
	program,
	format,
	external,
	installed,
	directory,
}: Bundling): Promise<BundledRun> {
	const outfile = join(directory, `dist/program.${EXTENSIONS[format]}`);
	await build({
		entryPoints: [program],
		bundle: true,
		platform: "node",
		conditions: ["snakepit-source", "module"],
		format,
		external: [...external],
		outfile,
		logLevel: "silent",
	});
	for (const [name, target] of Object.entries(installed)) {
		const link = join(directory, "node_modules", name);
		mkdirSync(dirname(link), { recursive: true });
		symlinkSync(target, link);
	}
	// With it Node would find the packages of this workspace from anywhere.
	const { NODE_PATH: _, ...env } = process.env;
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[outfile, join(directory, "ledger")],
		{ cwd: directory, env, encoding: "utf8", timeout: 60_000 },
	);
	return { status, stdout, stderr };
}
