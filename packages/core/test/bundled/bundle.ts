import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, type Format } from "esbuild";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const HERE = import.meta.dirname;
const NODE_MODULES = join(HERE, "../../node_modules");
const EXTENSIONS = { esm: "mjs", cjs: "cjs" } as const;

/** How the program is bundled, and what lies beside the bundle. */
export interface Bundling {
	readonly format: Extract<Format, "esm" | "cjs">;
	readonly external: readonly string[];
	/** Packages that are installed where the bundle runs. */
	readonly installed: readonly string[];
}

/** Bundles the program into a directory of its own, and runs it there. */
export async function runBundled({
	format,
	external,
	installed,
}: Bundling): Promise<{
	readonly status: number | null;
	readonly stdout: string;
	readonly stderr: string;
	/** Of the bundler. */
	readonly warnings: readonly string[];
}> {
	const place = temporaryDirectory();
	const outfile = join(place, `dist/program.${EXTENSIONS[format]}`);
	const { warnings } = await build({
		entryPoints: [join(HERE, "program.ts")],
		bundle: true,
		platform: "node",
		conditions: ["snakepit-source", "module"],
		format,
		external: [...external],
		outfile,
		logLevel: "silent",
	});
	for (const name of installed) {
		const link = join(place, "node_modules", name);
		mkdirSync(dirname(link), { recursive: true });
		symlinkSync(join(NODE_MODULES, name), link);
	}
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[outfile, join(place, "ledger")],
		{ cwd: place, encoding: "utf8", timeout: 60_000 },
	);
	return { status, stdout, stderr, warnings: warnings.map(({ text }) => text) };
}
