import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { LaunchSpec } from "../contract/launch.ts";

/** What is executed, for people who read the ledger: the program's name and a hash of its arguments, which may be private. */
export function fingerprint(spec: LaunchSpec): string {
	const digest = createHash("sha256")
		.update(JSON.stringify([spec.executable, spec.args]))
		.digest("hex");
	return `${basename(spec.executable)}#${digest.slice(0, 12)}`;
}
