import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Opens an address in the user's browser, if there is a desktop.
 *
 * @returns removes what the browser opened.
 */
export function openInBrowser(url: string): () => void {
	const { platform, env } = process;
	const hasDesktop =
		platform === "darwin" || env["DISPLAY"] || env["WAYLAND_DISPLAY"];
	if (!hasDesktop) return () => {};
	const link = privateLink(url);
	const opener = platform === "darwin" ? "open" : "xdg-open";
	const child = spawn(opener, [link.file], { stdio: "ignore", detached: true });
	child.on("error", () => {}); // The address is printed as well.
	child.unref();
	return link.remove;
}

/**
 * A private file that redirects to an address: the address contains a secret, and other users can read the arguments of
 * a process.
 */
export function privateLink(url: string): {
	readonly file: string;
	readonly remove: () => void;
} {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-dash-"));
	const file = join(directory, "open.html");
	writeFileSync(
		file,
		`<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`,
		{ mode: 0o600 },
	);
	const remove = (): void =>
		rmSync(directory, { recursive: true, force: true });
	return { file, remove };
}
