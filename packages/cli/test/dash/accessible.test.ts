import { beforeAll, describe, expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { VIEWS } from "../../web/model/addresses.ts";
import {
	DEADLINE_MS,
	hasChromium,
	openedPage,
	violationsOf,
	WHY_SKIPPED,
} from "./opened-page.ts";

/** A view's main part is there when this is. */
const SHOWN = {
	workers: "tr[data-worker=tools-1]",
	charts: "tr[data-command=parse]",
	logs: ".lines li",
	incidents: ".timeline li",
	calls: "section.call",
	tools: ".field",
	history: ".runs .timeline li",
} as const;
const QUERIES: Readonly<Record<string, string>> = { tools: "?tool=mean" };

describe.skipIf(!hasChromium)(`for everybody${WHY_SKIPPED}`, () => {
	const dash = openedPage({
		page: { viewport: { width: 1280, height: 800 } },
		open: async ({ page, server, host }) => {
			await page.goto(server.url);
			await page.locator(SHOWN.workers).waitFor();
			host.call("parse", { text: "twelve" });
		},
	});

	/** Shows a view with something in it. */
	async function open(view: (typeof VIEWS)[number]): Promise<void> {
		const { page, host, show } = dash;
		await show(`${view}${QUERIES[view] ?? ""}`);
		if (view === "workers") host.call("wait", { seconds: 600 }, 20);
		if (view === "logs") {
			await page.getByText("Nothing was printed").waitFor();
			host.call("report", { items: 25 });
		}
		if (view === "calls")
			await page
				.locator("tbody tr", { hasText: "parse" })
				.locator("a")
				.first()
				.click();
		await page.locator(SHOWN[view]).first().waitFor();
	}

	test("a button that kills asks, by keyboard too, and the focus stays where one is", async () => {
		const { page } = dash;
		const row = page.locator("tr[data-worker=tools-0]");
		const restart = row.getByRole("button", { name: "Restart" });
		const focused = () =>
			page.evaluate(() => document.activeElement?.textContent);
		await restart.focus();
		await page.keyboard.press("Enter");
		await row.locator(".question").waitFor();
		await expect.poll(focused).toBe("Cancel");
		await page.keyboard.press("Enter");
		await restart.waitFor();
		await expect.poll(focused).toBe("Restart");
		await page.keyboard.press("Enter");
		await expect.poll(focused).toBe("Cancel");
		await page.keyboard.press("Shift+Tab");
		await page.keyboard.press("Enter");
		await page.locator(".notice", { hasText: "Restart: done" }).waitFor();
	});

	test("views are reached with Tab and Enter, and what has the focus is seen", async () => {
		const { page } = dash;
		await page.locator("nav a").first().focus();
		await page.keyboard.press("Tab");
		const outline = await page.evaluate(() => {
			const { outlineStyle, outlineWidth } = getComputedStyle(
				document.activeElement ?? document.body,
			);
			return outlineStyle === "none" ? 0 : Number.parseFloat(outlineWidth);
		});
		expect(outline).toBeGreaterThanOrEqual(1);
		await page.keyboard.press("Enter");
		await page.locator("nav a[aria-current]", { hasText: "charts" }).waitFor();
	});

	// Workers come last: from then on they are busy.
	describe.each(VIEWS.toReversed())("%s", (view) => {
		beforeAll(() => open(view), DEADLINE_MS);

		test.each(
			rows(
				[
					["light", 1280],
					["dark", 1280],
					["light", 320],
					["dark", 320],
				] as const,
				([theme, width]) => (theme === "light") === (width === 1280),
			),
		)(
			"in the %s theme, %i pixels wide, meets WCAG AA and never scrolls sideways",
			async (colorScheme, width) => {
				const { page } = dash;
				await page.setViewportSize({ width, height: 800 });
				await page.emulateMedia({ colorScheme });
				expect(await violationsOf(page)).toEqual([]);
				expect(
					await page.evaluate(() => document.documentElement.scrollWidth),
				).toBe(width);
			},
			DEADLINE_MS,
		);
	});
});
