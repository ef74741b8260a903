import { describe, expect, test } from "vitest";
import {
	poolSnapshot,
	serve,
	workerSnapshot,
} from "../../../control/test/fake-run.ts";
import { privateLink } from "../../src/dash/dash.ts";
import { dashboardOfSocket } from "./dashboards.ts";
import { hasChromium, openedPage, WHY_SKIPPED } from "./opened-page.ts";

describe.skipIf(!hasChromium)(`the page in Chromium${WHY_SKIPPED}`, () => {
	/** What a page must not have: exceptions, anything that its policy forbids, and a request that is refused. */
	const problems: string[] = [];
	const dash = openedPage({
		pool: { heartbeat: { intervalMs: 500, hungAfterMs: 9_000 } },
		open: async ({ page, server }) => {
			page.on("pageerror", ({ message }) => problems.push(message));
			page.on("console", (line) => {
				if (/content security|401/i.test(line.text()))
					problems.push(line.text());
			});
			// As `snakepit dash` opens it.
			const link = privateLink(server.url);
			await page.goto(`file://${link.file}`);
			await page.waitForURL(/^http/);
			link.remove();
		},
	});

	test("the link shows the workers, and does not stay in the address", async () => {
		const { page } = dash;
		await page.locator("tr[data-worker=tools-0][data-state=idle]").waitFor();
		expect(page.url()).not.toContain("token");
		const verdict = await page.locator(".verdict").textContent();
		expect(verdict).toContain("2 workers, 0 busy");
	});

	test("the link does not work in another browser", async () => {
		const { server, browser } = dash;
		const other = await browser.newContext();
		const opened = await other.newPage();
		await opened.goto(server.url);
		await opened.getByText("This page is closed").waitFor();
		await other.close();
	});

	test("a form made from a tool's schema makes a call", async () => {
		const { page, show } = dash;
		await show("tools?tool=mean");
		await page.locator("#field-numbers").fill("[1, 2, 6]");
		await page.locator("#field-unit").fill("km");
		await page.getByRole("button", { name: "Call" }).click();
		await page.locator("pre.result").waitFor();
		const result = await page.locator("pre.result").textContent();
		expect(result).toBe('"3.0 km"');
		await show("tools?tool=parse");
		await page.locator("#field-text").fill("twelve");
		await page.getByRole("button", { name: "Call" }).click();
		await page.getByText("Traceback (most recent call last)").waitFor();
	});

	test("markup, ANSI sequences and a line of a megabyte stay inert and bounded", async () => {
		const { page, host, show } = dash;
		await show("logs");
		await page.getByText("Nothing was printed").waitFor();
		host.call("hostile", {});
		await page.locator(".lines li", { hasText: "blinks" }).click();
		const whole = await page.locator(".whole-line pre").textContent();
		expect(whole).toContain("<img src=x onerror=");
		expect(whole).not.toContain("\x1b");
		const lines = await page.locator(".lines").textContent();
		expect(lines).toContain("<U+202E>turned<U+202C>");
		expect(lines).toContain("xxxxxxxxxx");
		expect(lines?.length).toBeLessThan(20_000);
		await show("calls");
		const row = page.locator("tbody tr", { hasText: "hostile" });
		await row.locator("a").click();
		await page.locator("section.call").waitFor();
		expect(await page.title()).toBe("host-program.ts");
		const foreign = page.locator("#app script, #app img:not([src='icon.svg'])");
		expect(await foreign.count()).toBe(0);
		// The call is over: its lines are those that the program keeps.
		await page.getByRole("link", { name: "What it prints" }).click();
		await page.reload();
		await page.locator(".lines li", { hasText: "blinks" }).waitFor();
	});

	test("a worker that hangs is shown as hung, before it is killed", async () => {
		const { page, host, show } = dash;
		await show("workers");
		host.call("hang", {});
		const row = page.locator("tr[data-state=hung]", { hasText: "hang" });
		await row.waitFor();
		const verdict = await page.locator(".verdict").textContent();
		expect(verdict).toContain("has not answered for");
		// One that is killed is replaced, which is a restart.
		const section = await page.locator("section").textContent();
		expect(section).toContain("0 restarts");
	});

	test("a host that is killed is reported at once, and its last state can be read", async () => {
		const { page, host, show } = dash;
		await page.evaluate(() => {
			const seen = globalThis as { goneAt?: number };
			const look = () => {
				if (
					document.querySelector(".verdict")?.textContent?.includes("is gone")
				)
					seen.goneAt ??= Date.now();
			};
			new MutationObserver(look).observe(document.body, {
				...{ subtree: true, childList: true, characterData: true },
			});
		});
		const killedAt = Date.now();
		host.kill("SIGKILL");
		await page.locator("main.stale").waitFor();
		const goneAt = await page.evaluate(
			() => (globalThis as { goneAt?: number }).goneAt,
		);
		// By the end of its connection: of one that is only silent something else is said.
		expect((goneAt ?? Number.NaN) - killedAt).toBeLessThan(10_000);
		await page.locator("tr[data-worker=tools-0]").waitFor();
		await show("history");
		await page.locator(".runs", { hasText: host.runId }).waitFor();
		expect(problems).toEqual([]);
	});

	test("one call shows where each attempt waited, ran and ended, and links to its trace", async () => {
		const { browser, files } = dash;
		const { run, socketPath } = await serve();
		const other = await dashboardOfSocket(socketPath, files);
		const opened = await browser.newPage();
		await opened.goto(other.url);
		await opened.locator("tr[data-worker=demo-0]").waitFor();
		const settled = {
			...{ type: "call.settled", wallMs: 5_000, pool: "demo", attempts: 2 },
			...{ command: "mean", outcome: "failed", code: "WORKER_EXITED" },
		};
		const first = {
			...{ workerId: "demo-0", waitedMs: 0, ranMs: 1_400 },
			...{ code: "WORKER_EXITED", pauseMs: 250 },
		};
		const traceId = "0af7651916cd43dd8448eb211c80319c";
		run.happened("events", {
			...{ ...settled, callId: "c7", totalMs: 1_800, traceId },
			attemptDetails: [
				first,
				{ ...first, waitedMs: 120, ranMs: 30, pauseMs: undefined },
			],
		});
		run.happened("events", {
			...{ ...settled, callId: "c8", totalMs: 2_000, code: "CALL_TIMEOUT" },
			...{ attempts: 30, attemptDetails: [first] },
		});
		const rows = async (callId: string) => {
			await opened.goto(`${other.url.split("#")[0]}#/calls?call=${callId}`);
			const shown = opened
				.getByRole("region", { name: `Call ${callId}` })
				.locator("table.attempts tbody tr");
			await shown.first().waitFor();
			return (await shown.allTextContents()).map((text) => text.trim());
		};
		expect(await rows("c7")).toEqual([
			"1demo-00 ms1.4 sWORKER_EXITED, tried again after 250 ms",
			"2demo-0120 ms30 msWORKER_EXITED",
		]);
		run.pools = [
			poolSnapshot({
				workers: [
					workerSnapshot({
						running: [
							{
								...{ callId: "c9", command: "mean", forMs: 700 },
								...{ sessionId: null, cancelled: false, attempt: 2 },
								...{ waitedMs: 90, failedAttempts: [first] },
								...{ usual: null, reportedMs: null },
							},
						],
					}),
				],
			}),
		];
		await opened.getByRole("link", { name: "Workers" }).click();
		await opened.getByText("attempt 2").waitFor();
		expect(await rows("c9")).toEqual([
			"1demo-00 ms1.4 sWORKER_EXITED, tried again after 250 ms",
			"2demo-090 ms700 msrunning",
		]);
		await rows("c7");
		await opened
			.getByLabel("address")
			.fill("http://localhost:16686/trace/{traceId}");
		const link = opened.getByRole("link", { name: traceId });
		expect(await link.getAttribute("href")).toBe(
			`http://localhost:16686/trace/${traceId}`,
		);
		expect(await rows("c8")).toEqual([
			"30demo-00 ms1.4 sWORKER_EXITED, tried again after 250 ms",
			"none350 msCALL_TIMEOUT",
		]);
		await opened.close();
		await other.close();
	});
});
