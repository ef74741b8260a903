import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { outOfDescriptors } from "./system-refusal.ts";

/**
 * Names this machine: the same text in every program and after every boot,
 * another text on another machine.
 *
 * The system's own identifier is hashed, since it is confidential.
 *
 * Source: machine-id(5), "should be considered confidential".
 */
export function readMachineId(): string {
	return hashed(systemIdentifier() ?? `hostname:${hostname()}`);
}

function hashed(identifier: string): string {
	return createHash("sha256")
		.update(`snakepit:${identifier}`)
		.digest("hex")
		.slice(0, 16);
}

function systemIdentifier(): string | undefined {
	return process.platform === "darwin" ? platformUuid() : machineIdFile();
}

/** Missing, empty or `uninitialized` in many containers. */
function machineIdFile(): string | undefined {
	for (const path of ["/etc/machine-id", "/var/lib/dbus/machine-id"]) {
		try {
			const text = readFileSync(path, "utf8").trim();
			if (/^[0-9a-f]{32}$/.test(text)) return text;
		} catch (error) {
			// Another name would be another machine, and another place of the ledger.
			if (outOfDescriptors(error)) throw error;
			// Not there: the next one.
		}
	}
	return undefined;
}

function platformUuid(): string | undefined {
	const { stdout } = spawnSync(
		"/usr/sbin/ioreg",
		["-rd1", "-c", "IOPlatformExpertDevice"],
		{ encoding: "utf8" },
	);
	return /"IOPlatformUUID" = "([^"]+)"/.exec(stdout ?? "")?.[1];
}
