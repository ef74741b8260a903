import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A place for the ledger of one test. */
export function newState(): string {
	const state = mkdtempSync(join(tmpdir(), "snakepit-demo-"));
	onTestFinished(() => rmSync(state, { recursive: true, force: true }));
	return state;
}
