import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * Builds the dashboard's page: one script and one style, which contain Preact, uPlot and eventsource (licenses/). Nothing of it is
 * loaded from elsewhere.
 */
export async function buildPage(directory: string): Promise<void> {
	const web = join(import.meta.dirname, "web");
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true });
	await build({
		entryPoints: { app: join(web, "main.tsx") },
		outdir: directory,
		bundle: true,
		minify: true,
		format: "esm",
		platform: "browser",
		target: "es2022",
		jsx: "automatic",
		jsxImportSource: "preact",
		conditions: ["snakepit-source"],
		// The page uses only what runs in a browser; the rest of an imported package is left out.
		external: ["node:*"],
		treeShaking: true,
		logLevel: "warning",
	});
	copyFileSync(join(web, "index.html"), join(directory, "index.html"));
	copyFileSync(join(web, "icon.svg"), join(directory, "icon.svg"));
}

if (import.meta.main) await buildPage(process.argv[2] ?? "dist/page");
