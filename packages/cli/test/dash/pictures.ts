// Makes the pictures of docs/dashboard.md, of a pool that works, fails and loses a worker: each view, light and dark, and on a
// narrow screen. Needs Chromium. Run it when the page has changed, and look at what it made:
//
//     node --conditions=snakepit-source packages/cli/test/dash/pictures.ts [DIRECTORY]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { attach } from "@snakepit/control";
import type { Page } from "playwright-core";
import { builtPage, dashboardOf } from "./dashboards.ts";
import { inspectedHost } from "./inspected-host.ts";
import { startChromium } from "./opened-page.ts";

/** Of whoever makes the pictures: nobody else's business. */
const REPOSITORY = join(import.meta.dirname, "../../../..");
const [, , directory = join(REPOSITORY, "docs/images")] = process.argv;
/** So that the charts have something to show. */
const WORKS_MS = 30_000;
const EVERY_MS = 200;
const DEADLINE_MS = 60_000;

mkdirSync(directory, { recursive: true });
const host = await inspectedHost(["read", "logs", "act", "call"], {
	...{ size: 4, callsPerWorker: 1, recycle: { afterCalls: 5_000 } },
});
const browser = await startChromium();
const server = await dashboardOf(host.dataDir, await builtPage());
try {
	const page = await browser.newPage({
		viewport: { width: 1280, height: 800 },
	});
	page.setDefaultTimeout(DEADLINE_MS);
	await page.goto(server.url);
	await page.locator("tr[data-worker=tools-0]").waitFor();
	const show = (view: string) =>
		page.goto(`${server.url.split("#")[0]}#/${view}`);

	await work();
	for (const view of ["charts", "incidents", "history"]) {
		await show(view);
		await page
			.locator("main table, main canvas, main ol, main ul")
			.nth(0)
			.waitFor();
		await pictures(page, view);
	}
	await show("logs");
	host.call("report", { items: 25 });
	await page.locator(".lines li").nth(12).waitFor();
	await pictures(page, "logs");
	await show("calls");
	const failed = page.locator("tbody tr", { hasText: "parse" }).first();
	await failed.locator("a").click();
	await page.locator("section.call").waitFor();
	await pictures(page, "calls");
	await show("tools?tool=mean");
	await page.locator("#field-numbers").fill("[1, 2, 6]");
	await page.locator("#field-unit").fill("km");
	await page.getByRole("button", { name: "Call" }).click();
	await page.locator("pre.result").waitFor();
	await pictures(page, "tools");
	await show("workers");
	host.call("wait", { seconds: 600 }, 4);
	host.call("classify", { image: 1 }, 5);
	await page.locator(".queue[data-waiting='5']").waitFor();
	await pictures(page, "workers");
	host.kill("SIGKILL");
	await page.locator("main.stale").waitFor();
	await page.setViewportSize({ width: 320, height: 640 });
	await pictures(page, "narrow");
} finally {
	await browser.close();
	await server.close();
	await host.end();
}

/** Calls that succeed, that fail, and that wait; a worker that is killed. */
async function work(): Promise<void> {
	using client = await attach({ dataDir: host.dataDir, by: "a person" });
	for (let image = 0; image < WORKS_MS / EVERY_MS; image++) {
		host.call("classify", { image }, 6);
		if (image % 40 === 20) host.call("parse", { text: "twelve" });
		if (image === 100)
			await client.act("tools", "restart", { worker: "tools-2" });
		await pause(EVERY_MS);
	}
}

/** In the page: shows another path in the place of one. */
function withoutPath([path, shown]: readonly [string, string]): void {
	const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
		text.nodeValue = (text.nodeValue ?? "").replaceAll(path, shown);
}

async function pictures(page: Page, view: string): Promise<void> {
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		// Charts are drawn anew in the next frame.
		await pause(1_000);
		await page.evaluate(withoutPath, [REPOSITORY, "/srv/shop"] as const);
		const name = `dashboard-${view}${colorScheme === "dark" ? "-dark" : ""}.png`;
		await page.screenshot({ path: join(directory, name) });
	}
}
