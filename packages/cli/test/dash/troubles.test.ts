import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import {
	DEADLINE_MS,
	hasChromium,
	openedPage,
	violationsOf,
	WHY_SKIPPED,
} from "./opened-page.ts";

/** As long as the name of a pool may be. */
const LONG = "images-of-all-customers-in-the-north-eu1";
const LONG_TOOL =
	"resize_the_large_images_of_all_customers_of_the_northern_region";
const WIDTH = 360;
const WAIT = { timeout: DEADLINE_MS };

describe.skipIf(!hasChromium)(`a program in trouble${WHY_SKIPPED}`, () => {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-tools-"));
	const tools = join(directory, "failing_tools.py");
	copyFileSync(join(import.meta.dirname, "failing_tools.py"), tools);
	writeFileSync(join(directory, "model.bin"), "");
	afterAll(() => removeDirectory(directory));
	const dash = openedPage({
		pool: {
			...{ size: 1, queue: { limit: 10 } },
			heartbeat: { intervalMs: 500, hungAfterMs: 600_000 },
		},
		pools: [
			{ name: LONG, size: 1, tools },
			{ name: "small", size: 1, queue: { limit: 10 } },
		],
		open: async ({ page, server }) => {
			await page.goto(server.url);
			await page.locator("tr[data-worker=tools-0]").waitFor();
		},
	});
	const finding = (kind: string) =>
		dash.page.locator(`.verdict li[data-kind=${kind}]`);

	test("commands of the same name have the names of their pools in the charts", async () => {
		const { page, host, show } = dash;
		await show("charts");
		for (const pool of ["tools", "small"])
			host.call("classify", { image: 1 }, 3, pool);
		host.call(LONG_TOOL, { image: 1 }, 3, LONG);
		for (const pool of ["tools", "small", LONG])
			await page.locator(`tr[data-pool="${pool}"]`).waitFor();
		const legend = page.locator(".u-legend").first();
		await expect
			.poll(() => legend.textContent(), WAIT)
			.toMatch(
				/tools: classify.*small: classify|small: classify.*tools: classify/,
			);
		await page.getByLabel("Pool").selectOption("small");
		await expect
			.poll(() => page.locator("tr[data-pool]").count(), WAIT)
			.toBe(1);
	});

	test("every trouble is in the banner at once, with what to do, until it is over", async () => {
		const { page, host, show } = dash;
		await show("workers");
		host.call("leave", {}, 1, LONG);
		host.call("hang", {});
		host.call("wait", { seconds: 3_600 }, 12, "small");
		for (const kind of ["crash_loop", "hung_worker", "long_queue"])
			await finding(kind).waitFor();
		const texts = await page.locator(".verdict li").allTextContents();
		const all = texts.join("\n");
		expect(all).toMatch(/model\.bin: is the volume mounted/);
		expect(all).toMatch(/tools-0.*has not answered for/);
		expect(all).toMatch(
			/small: 1\d of at most 10 calls wait|small: \d+ of at most 10/,
		);
		expect(await page.title()).toMatch(/^●/);
		const state = page.locator(
			`section[aria-label="Pool ${LONG}"] [data-pool-state]`,
		);
		expect(await state.getAttribute("data-tone")).toBe("bad");
		// On every view.
		await show("charts");
		await finding("crash_loop").waitFor();
		// It is mended: the pool tries again by itself.
		writeFileSync(join(directory, "model.bin"), "");
		await finding("crash_loop").waitFor({ state: "detached" });
		expect(await finding("long_queue").count()).toBe(1);
	});

	test("the stacks of a hung worker say where it is", async () => {
		const { page, show } = dash;
		await show("workers");
		await finding("hung_worker").getByRole("link").click();
		const stacks = page.locator("section.stacks");
		await stacks.getByText("in hang").waitFor();
		expect(await stacks.locator(".facts").textContent()).toContain("hang");
		for (const colorScheme of ["light", "dark"] as const) {
			await page.emulateMedia({ colorScheme });
			expect(await violationsOf(page), colorScheme).toEqual([]);
		}
	});

	test(`with long names, ${WIDTH} pixels are enough, and the whole name is at the focus`, async () => {
		const { page, show } = dash;
		await page.setViewportSize({ width: WIDTH, height: 740 });
		for (const view of ["workers", "charts", "calls", "tools", "incidents"]) {
			await show(view);
			await page.locator("main").waitFor();
			expect(await overflowing(page), view).toEqual([]);
		}
		await show("charts");
		await page.locator(`tr[data-command="${LONG_TOOL}"] button`).focus();
		const tip = page.getByRole("tooltip");
		await tip.waitFor();
		expect(await tip.textContent()).toBe(LONG_TOOL);
		expect(await overflowing(page)).toEqual([]);
		await page.keyboard.press("Escape");
		await tip.waitFor({ state: "detached" });
	});

	test(
		"a host that is stopped is trouble within seconds, and is none when it goes on",
		async () => {
			const { page, host, show } = dash;
			await page.setViewportSize({ width: 1280, height: 800 });
			await show("workers");
			host.kill("SIGSTOP");
			await finding("silent_program").waitFor();
			// What was wrong before may still be.
			expect(await finding("long_queue").count()).toBe(1);
			host.kill("SIGCONT");
			await finding("silent_program").waitFor({ state: "detached" });
			await finding("long_queue").waitFor();
		},
		2 * DEADLINE_MS,
	);
});

/** The elements that are wider than the page. */
async function overflowing(page: Page): Promise<readonly string[]> {
	return await page.evaluate(() => {
		const width = document.documentElement.clientWidth;
		const wide = [...document.querySelectorAll("#app *")].filter((element) => {
			const { left, right } = element.getBoundingClientRect();
			const isHidden = element.closest(".hidden, thead, .lines, .name-start");
			return isHidden === null && (right > width + 0.5 || left < -0.5);
		});
		const scrolls = document.documentElement.scrollWidth > width;
		return [
			...(scrolls ? ["the page scrolls sideways"] : []),
			...wide.map((element) => element.outerHTML.slice(0, 200)),
		];
	});
}
