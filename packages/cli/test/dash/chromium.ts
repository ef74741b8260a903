import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

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
