import { spawnSync } from "node:child_process";

/** What Chromium needs in a container, where there is no network and no other user. */
export const IN_A_TEST: readonly string[] = [
	...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
	...["--disable-gpu", "--disable-quic", "--disable-sync"],
	...["--disable-background-networking", "--disable-component-update"],
];

/** Whether there is a Chromium, and why the tests are skipped where there is none. */
export function hasChromium(): boolean {
	const there = spawnSync("chromium", ["--version"], { stdio: "ignore" });
	if (there.status !== 0)
		console.warn(
			"Skipped: chromium is not installed. On Debian: apt install chromium",
		);
	return there.status === 0;
}
