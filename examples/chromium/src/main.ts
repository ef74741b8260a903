/** Reads the titles of pages, with two browsers, each page in a context of its own. */
import { createPool } from "@snakepit/core";
import { chromium } from "./chromium-adapter.ts";

const pages = ["One", "Two", "Three", "Four"].map(
	(title) => `data:text/html,<title>${title}</title>`,
);

await using pool = await createPool({
	// Chromium's sandbox does not work for root.
	adapter: chromium(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
	size: 2,
	output: { echo: "none" },
});
const titles = await Promise.all(
	pages.map((url) =>
		pool.use(async (browser) => {
			await using context = await browser.newContext();
			const page = await context.newPage();
			await page.goto(url);
			return await page.title();
		}),
	),
);
console.log(titles.join(" "));
