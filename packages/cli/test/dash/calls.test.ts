import { readHistory } from "@snakepit/core/inspect";
import { afterAll, describe, expect, test } from "vitest";
import { type InspectedHost, inspectedHost } from "./inspected-host.ts";
import {
	DEADLINE_MS,
	hasChromium,
	openedPage,
	WHY_SKIPPED,
} from "./opened-page.ts";

describe.skipIf(!hasChromium)(`the list of calls${WHY_SKIPPED}`, () => {
	let later: InspectedHost | undefined;
	const dash = openedPage({
		open: async ({ page, server, host }) => {
			host.call("parse", { text: "before" });
			await page.goto(server.url);
			await page.locator("tr[data-worker=tools-0]").waitFor();
		},
	});
	afterAll(() => later?.end());
	const rows = (text: string) =>
		dash.page.locator("tr[data-call]", { hasText: text });
	const details = () => dash.page.locator("section.call");

	test("calls that failed come first, also those from before the page was opened", async () => {
		const { host, show, page } = dash;
		await show("calls");
		await rows("parse").waitFor();
		host.call("classify", { image: 1 }, 3);
		await rows("classify").nth(2).waitFor();
		const shown = await page.locator("tr[data-call]").allTextContents();
		expect(shown[0]).toContain("parse");
		await page.getByLabel("Outcome").selectOption("succeeded");
		await rows("parse").waitFor({ state: "detached" });
		await page.getByLabel("Outcome").selectOption("all");
		await page.getByRole("searchbox").fill("PARSE");
		await rows("classify").first().waitFor({ state: "detached" });
		expect(await rows("parse").count()).toBe(1);
		// The filter is in the address.
		await page.reload();
		await rows("parse").waitFor();
		expect(await page.getByRole("searchbox").inputValue()).toBe("PARSE");
	});

	test("a paused list stays as it is, and says how much is new", async () => {
		const { host, show, page } = dash;
		await show("calls");
		await rows("parse").waitFor();
		await page.getByRole("button", { name: "Pause" }).click();
		host.call("parse", { text: "while paused" });
		await page.getByRole("button", { name: "Resume (1 new)" }).waitFor();
		expect(await rows("parse").count()).toBe(1);
		await page.getByRole("button", { name: "Resume" }).click();
		await rows("parse").nth(1).waitFor();
	});

	test("a link to a call is the same after a reload, and after the program has died and started again", async () => {
		const { host, show, page } = dash;
		await show("calls?text=before");
		await rows("parse").last().locator("a").click();
		await details().getByText("invalid literal for int").first().waitFor();
		const link = page.url();
		await page.reload();
		await details().getByText("invalid literal for int").first().waitFor();
		await expect
			.poll(() => recorded(host.dataDir), { timeout: DEADLINE_MS })
			.toBe(2);
		host.kill("SIGKILL");
		await page.locator(".verdict", { hasText: "is gone" }).waitFor();
		later = await inspectedHost({ dataDir: host.dataDir });
		await page.goto("about:blank");
		await page.goto(link);
		await details().getByText("invalid literal for int").first().waitFor();
		expect(await details().textContent()).toContain(`in run ${host.runId}`);
		expect(page.url()).toBe(link);
		await expect
			.poll(() => page.locator("header").textContent(), {
				timeout: DEADLINE_MS,
			})
			.toContain(later.runId);
	});
});

/** How many failed calls the ledgers of a directory have. */
async function recorded(dataDir: string): Promise<number> {
	const runs = await Array.fromAsync(readHistory({ dataDir }));
	return runs.flatMap(({ failedCalls }) => failedCalls).length;
}
