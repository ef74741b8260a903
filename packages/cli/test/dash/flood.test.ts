import { performance } from "node:perf_hooks";
import { attach } from "@snakepit/control";
import { expect, onTestFinished, test } from "vitest";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { builtPage, dashboardOf } from "./dashboards.ts";
import { inspectedHost } from "./inspected-host.ts";
import { hasChromium, startChromium, WHY_SKIPPED } from "./opened-page.ts";

const PER_SECOND = 10_000;
const SECONDS = 2;
/** Who looks or calls must not wait for longer, whatever is printed. */
const USABLE_MS = 2_000;

test.skipIf(!hasChromium || !isThorough())(
	`10,000 lines a second leave page and host usable, and every line is counted${WHY_SKIPPED}`,
	async () => {
		const [page, browser, host] = await Promise.all([
			builtPage(),
			startChromium(),
			inspectedHost({ control: { scopes: ["read", "logs", "call"] } }),
		]);
		onTestFinished(() => host.end());
		onTestFinished(() => browser.close());
		const server = await dashboardOf(host.dataDir, page);
		onTestFinished(() => server.close());
		using client = await attach({ dataDir: host.dataDir });
		const opened = await browser.newPage();
		await opened.goto(server.url);
		await opened.locator("nav").waitFor();
		await opened.goto(`${server.url.split("#")[0]}#/logs`);
		await opened.getByText("Nothing was printed").waitFor();

		let phase: "printing" | "done" = "printing";
		const printing = client
			.call({
				...{ pool: "tools", command: "chatter" },
				args: { per_second: PER_SECOND, seconds: SECONDS },
			})
			.finally(() => {
				phase = "done";
			});
		let looks = 0;
		while (phase === "printing") {
			const start = performance.now();
			await Promise.all([
				client.state(),
				client.call({ pool: "tools", command: "wait", args: { seconds: 0 } }),
				opened.evaluate(() => document.title),
			]);
			expect(performance.now() - start).toBeLessThan(USABLE_MS);
			looks++;
		}
		expect(looks).toBeGreaterThan(1);
		const printed = Number(await printing);
		expect(printed).toBeGreaterThan(PER_SECOND);
		await opened.waitForFunction(
			(all) => {
				const count = document.querySelector(".count")?.textContent ?? "";
				const [received = 0, leftOut = 0] = (
					count.match(/\d[\d,]*/g) ?? []
				).map((number) => Number(number.replaceAll(",", "")));
				return received + leftOut === all;
			},
			printed,
			{ timeout: 20_000 },
		);
		expect(await opened.locator(".lines li").count()).toBeLessThan(100);
	},
	90_000,
);
