import { execFileSync } from "node:child_process";
import { assertInside } from "../../../scripts/ray/namespace.ts";

/** Drops every packet that a rule fits, until the namespace ends or {@link restore} is called. */
export function cut(rules: readonly string[]): void {
	assertInside();
	const text = [
		"add table inet chaos",
		"add chain inet chaos cut { type filter hook output priority 0; }",
		...rules.map((rule) => `add rule inet chaos cut ${rule} drop`),
	].join("\n");
	execFileSync("nft", ["-f", "-"], { input: text });
}

export function restore(): void {
	assertInside();
	execFileSync("nft", ["delete", "table", "inet", "chaos"]);
}
