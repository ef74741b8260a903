// Makes the pictures of docs/dashboard.md, of pools that work, fail and lose workers: each view, light and dark, and on a
// narrow screen. Needs Chromium. Run it when the page has changed, and look at what it made:
//
//     node --conditions=snakepit-source packages/cli/test/dash/pictures.ts [DIRECTORY [WIDTH ...]]
//
// With widths, each view is pictured at each of them: so one sees what docs/dashboard.md does not show.
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { attach, SCOPES } from "@snakepit/control";
import type { Page } from "playwright-core";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { builtPage, dashboardOf } from "./dashboards.ts";
import { inspectedHost } from "./inspected-host.ts";
import { startChromium } from "./opened-page.ts";

/** Of whoever makes the pictures: nobody else's business. */
const REPOSITORY = join(import.meta.dirname, "../../../..");
const [, , directory = join(REPOSITORY, "docs/images"), ...widths] =
	process.argv;
/** Those of the guide have one width each. */
const WIDTHS = widths.map(Number);
/** High enough to see most of a view. */
const TALL = 1_600;
/** So that the charts have something to show. */
const WORKS_MS = 30_000;
const EVERY_MS = 200;
const DEADLINE_MS = 60_000;
const IMAGES = "images-of-all-shops-in-northern-europe";
const LONG_TOOL =
	"resize_the_large_images_of_all_customers_of_the_northern_region";

mkdirSync(directory, { recursive: true });
const failing = mkdtempSync(join(tmpdir(), "snakepit-tools-"));
const tools = join(failing, "failing_tools.py");
copyFileSync(join(import.meta.dirname, "failing_tools.py"), tools);
writeFileSync(join(failing, "model.bin"), "");
const host = await inspectedHost({
	control: { scopes: SCOPES },
	pool: {
		...{ size: 4, callsPerWorker: 1, recycle: { afterCalls: 5_000 } },
		...{ queue: { limit: 40 } },
		heartbeat: { intervalMs: 500, hungAfterMs: 600_000 },
	},
	pools: [{ name: IMAGES, size: 2, tools }],
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
	const failed = page.locator("tr[data-call]", { hasText: "parse" }).first();
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
	host.call("wait", { seconds: 600 }, 3);
	host.call("classify", { image: 1 }, 5);
	await pictures(page, "workers");
	host.call("hang", {});
	host.call("wait", { seconds: 600 }, 34);
	host.call("leave", {}, 2, IMAGES);
	for (const kind of ["crash_loop", "hung_worker", "long_queue"])
		await page.locator(`.verdict li[data-kind=${kind}]`).waitFor();
	await pictures(page, "troubles");
	await page.locator("li[data-kind=hung_worker] a").click();
	await page.locator("section.stacks pre").first().waitFor();
	await pictures(page, "stacks");
	host.kill("SIGKILL");
	await page.locator("main.stale").waitFor();
	await show("workers");
	await page.setViewportSize({ width: 360, height: 740 });
	await pictures(page, "narrow");
} finally {
	await browser.close();
	await server.close();
	await host.end();
	removeDirectory(failing);
}

/** Calls that succeed, that fail, and that wait; a worker that is killed. */
async function work(): Promise<void> {
	using client = await attach({ dataDir: host.dataDir, by: "a person" });
	for (let image = 0; image < WORKS_MS / EVERY_MS; image++) {
		host.call("classify", { image }, 6);
		host.call(LONG_TOOL, { image }, 3, IMAGES);
		host.call("resize", { image }, 1, IMAGES);
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
	const { width = 0, height = 0 } = page.viewportSize() ?? {};
	for (const each of WIDTHS.length === 0 ? [width] : WIDTHS) {
		const tall = WIDTHS.length === 0 ? height : TALL;
		await page.setViewportSize({ width: each, height: tall });
		for (const colorScheme of ["light", "dark"] as const) {
			await page.emulateMedia({ colorScheme });
			// Charts are drawn anew in the next frame.
			await pause(1_000);
			await page.evaluate(withoutPath, [REPOSITORY, "/srv/shop"] as const);
			await page.evaluate(withoutPath, [failing, "/srv/models"] as const);
			const name = [
				...["dashboard", view],
				...(WIDTHS.length === 0 ? [] : [each]),
				...(colorScheme === "dark" ? ["dark"] : []),
			].join("-");
			await page.screenshot({ path: join(directory, `${name}.png`) });
		}
	}
	await page.setViewportSize({ width, height });
}
