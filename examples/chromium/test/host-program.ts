/** A host of a browser with a page; prints a line when it is up. Argument: data directory. */
import { createPool } from "@snakepit/core";
import { MARK } from "../../../scripts/marked-host.ts";
import { chromium } from "../src/chromium-adapter.ts";

const [dataDir = "", ...args] = process.argv.slice(2);
const adapter = chromium(args);
const pool = await createPool({
	dataDir,
	adapter: {
		...adapter,
		launch: async (slot, signal) => ({
			...(await adapter.launch(slot, signal)),
			inheritEnv: [MARK],
		}),
	},
	size: 1,
	output: { echo: "none" },
});
await pool.use(async (browser) => void (await browser.newPage()));
console.log("up");
setInterval(() => {}, 2 ** 30);
