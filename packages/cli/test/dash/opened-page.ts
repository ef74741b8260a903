import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { SCOPES } from "@snakepit/control";
import axe, { type AxeResults } from "axe-core";
import {
	type Browser,
	type BrowserContextOptions,
	chromium,
	type Page,
} from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import type { DashServer } from "../../src/dash/dash-server.ts";
import type { PageFiles } from "../../src/dash/page-answers.ts";
import { builtPage, dashboardOf } from "./dashboards.ts";
import {
	type HostSetting,
	type InspectedHost,
	inspectedHost,
} from "./inspected-host.ts";

/** How long a test waits for what it looks for. */
export const DEADLINE_MS = 40_000;

interface OpenedPage {
	readonly files: PageFiles;
	readonly browser: Browser;
	readonly host: InspectedHost;
	readonly server: DashServer;
	readonly page: Page;
	show(view: string): Promise<unknown>;
}

interface Setting extends Pick<HostSetting, "pool" | "pools"> {
	readonly page?: BrowserContextOptions;
	/** Opens the dashboard in the page. */
	readonly open: (opened: OpenedPage) => Promise<unknown>;
}

/** The dashboard of a host, in Chromium, from before the first test of a suite until after its last. */
export function openedPage({ pool, pools, page, open }: Setting): OpenedPage {
	const opened = {
		show: (view: string) =>
			opened.page.goto(`${opened.server.url.split("#")[0]}#/${view}`),
	} as { -readonly [Part in keyof OpenedPage]: OpenedPage[Part] };
	beforeAll(async () => {
		[opened.files, opened.browser, opened.host] = await Promise.all([
			builtPage(),
			startChromium(),
			inspectedHost({
				...{ control: { scopes: SCOPES }, pool, pools },
			}),
		]);
		opened.server = await dashboardOf(opened.host.dataDir, opened.files);
		opened.page = await opened.browser.newPage(page);
		opened.page.setDefaultTimeout(DEADLINE_MS);
		await open(opened);
	}, 60_000);
	afterAll(async () => {
		await opened.browser?.close();
		await opened.server?.close();
		await opened.host?.end();
	});
	return opened;
}

const WCAG_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** What a page has that WCAG AA forbids. */
export async function violationsOf(
	page: Page,
): Promise<readonly (readonly unknown[])[]> {
	// Not as a script of the page, which its policy would refuse.
	await page.evaluate(axe.source);
	const { violations } = await page.evaluate<AxeResults, string[]>(
		(values) =>
			(globalThis as unknown as { axe: typeof axe }).axe.run(document, {
				runOnly: { type: "tag", values },
			}),
		WCAG_AA,
	);
	return violations.flatMap(({ id, nodes }) =>
		nodes.map(({ html, failureSummary }) => [id, html, failureSummary]),
	);
}

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The Chromium of this machine. */
const PATH: string | undefined = (process.env["PATH"] ?? "")
	.split(delimiter)
	.flatMap((directory) => NAMES.map((name) => join(directory, name)))
	.find((path) => {
		try {
			accessSync(path, constants.X_OK);
			return true;
		} catch {
			return false;
		}
	});

export const hasChromium: boolean = PATH !== undefined;

/** What the title of a test in Chromium ends with: why it is skipped. */
export const WHY_SKIPPED: string = hasChromium
	? ""
	: " (skipped: chromium is not installed; on Debian: apt install chromium)";

/** Without a window, and without what it would ask of the network by itself. */
export async function startChromium(): Promise<Browser> {
	return await chromium.launch({
		executablePath: PATH ?? "",
		args: [
			...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
			...["--disable-background-networking", "--disable-component-update"],
			"--disable-sync",
		],
	});
}
