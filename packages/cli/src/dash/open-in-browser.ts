import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Opens an address in the user's browser, where there is a desktop. The address has a secret, and other users can read the
 * arguments of a process: the browser gets a private file that leads to it.
 *
 * @returns removes the file.
 */
export function openInBrowser(url: string): () => void {
	const { platform, env } = process;
	const hasDesktop =
		platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
	if (!hasDesktop) return () => {};
	const directory = mkdtempSync(join(tmpdir(), "snakepit-dash-"));
	const file = join(directory, "open.html");
	writeFileSync(
		file,
		`<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`,
		{ mode: 0o600 },
	);
	const opener = platform === "darwin" ? "open" : "xdg-open";
	const child = spawn(opener, [file], { stdio: "ignore", detached: true });
	child.on("error", () => {}); // The address is printed as well.
	child.unref();
	return () => rmSync(directory, { recursive: true, force: true });
}
