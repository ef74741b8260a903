import type { EndReason } from "@snakepit/core/registry";

const UNWANTED: ReadonlySet<EndReason> = new Set([
	"exited",
	"broken",
	"hung",
	"stuck",
	"vanished",
]);

/** Whether a worker ended although nobody in this program had asked it to. */
export function isUnwanted(reason: EndReason): boolean {
	return UNWANTED.has(reason);
}
