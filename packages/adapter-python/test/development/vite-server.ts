// A development server of Vite whose modules are saved and loaded again: asks its page after each save, and writes down what it said.
import { EventEmitter, once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "vite";
import type { Page } from "./vite-project.ts";

const [root = "", saves = "0", core = "outside"] = process.argv.slice(2);

/** What Vite has taken out of its graph. */
const updates = new EventEmitter();

const server = await createServer({
	plugins: [
		{ name: "updates", hotUpdate: ({ file }) => void updates.emit(file) },
	],
	root,
	configFile: false,
	appType: "custom",
	logLevel: "error",
	server: {
		middlewareMode: true,
		ws: false,
		// Otherwise a second change within 50 ms goes unnoticed.
		watch: { awaitWriteFinish: { stabilityThreshold: 20, pollInterval: 10 } },
	},
	optimizeDeps: { noDiscovery: true },
	ssr: {
		// Packages that are installed are outside of Vite's graph; inside of it they are loaded again with the modules.
		...(core === "outside"
			? { external: ["@snakepit/core", "@snakepit/adapter-python"] }
			: { noExternal: true, external: ["better-sqlite3"] }),
		resolve: {
			conditions: ["snakepit-source"],
			externalConditions: ["snakepit-source"],
		},
	},
});

async function page(): Promise<Page> {
	const { render } = await server.ssrLoadModule("/page.ts");
	return await render();
}

const pages = [await page()];
for (let save = 1; save <= Number(saves); save++) {
	const file = join(root, "version.ts");
	const noticed = once(updates, file);
	writeFileSync(file, `export const VERSION = ${save};\n`);
	await noticed;
	if (core === "inside") server.moduleGraph.invalidateAll();
	pages.push(await page());
}
writeFileSync(join(root, "pages.json"), JSON.stringify(pages));
process.stdout.write("done\n");
setInterval(() => {}, 2 ** 30);
