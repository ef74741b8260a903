import { spawnSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A host with a file system of its own at a directory: it sees it, and so does
 * who looks through `/proc/PID/root`. It is gone with the host.
 */
export function onOwnDisk(
	directory: string,
	options: string,
): readonly string[] {
	const script = `mount -t tmpfs -o ${options},mode=700 chaos "$1" && shift && exec "$@"`;
	return ["unshare", "--mount", "sh", "-c", script, "sh", directory];
}

/** Why a host cannot have a file system of its own here; `undefined` when it can. */
export function mountsUnavailable(): string | undefined {
	const [command = "", ...args] = [...onOwnDisk("/mnt", "size=1m"), "true"];
	const { error, status, stderr } = spawnSync(command, args, {
		encoding: "utf8",
	});
	if (status === 0) return undefined;
	return `no private mount here: ${error?.message ?? stderr.trim()}`;
}

/** Leaves no byte free on the disk of a directory; returns what frees it again. */
export function fillDisk(directory: string): () => void {
	const file = join(directory, "ballast");
	for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
		for (;;) {
			try {
				writeFileSync(file, Buffer.alloc(bytes, 1), { flag: "a" });
			} catch {
				break;
			}
			if (statfsSync(directory).bavail === 0) break;
		}
	}
	return () => rmSync(file);
}
