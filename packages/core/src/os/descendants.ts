import { isSameProcess, type ProcessIdentity } from "../contract/identity.ts";
import type { ProcessFacts } from "../contract/world.ts";
import type { ProcessTable, TableEntry } from "./process-table.ts";

type Table = Pick<ProcessTable, "entry" | "children">;
type FactsOf = (entry: TableEntry) => ProcessFacts;

/** A process below another one, with the process that was its parent when it was found. */
export interface Descendant extends ProcessFacts {
	readonly parent: ProcessIdentity;
}

/** What forks without end is ended as a group, not one by one. */
const DESCENDANTS_LIMIT = 10_000;

/**
 * The living descendants of a process, parents before children. Those whose own
 * parent has ended are not among them.
 */
export function descendantsOf(
	ancestor: ProcessIdentity,
	table: Table,
	factsOf: FactsOf,
): readonly Descendant[] {
	const found: Descendant[] = [];
	const seen = new Set([ancestor.pid]);
	const open = [ancestor];
	for (let next = open.shift(); next !== undefined; next = open.shift()) {
		const children = childrenOf(next, table, factsOf).filter(
			({ identity }) => !seen.has(identity.pid),
		);
		for (const child of children) {
			if (seen.size > DESCENDANTS_LIMIT) return found;
			seen.add(child.identity.pid);
			found.push(child);
			open.push(child.identity);
		}
	}
	return found;
}

/** The living children of a process; none when it has ended meanwhile. */
function childrenOf(
	parent: ProcessIdentity,
	table: Table,
	factsOf: FactsOf,
): readonly Descendant[] {
	const children = table.children(parent.pid).flatMap((pid) => {
		const entry = table.entry(pid);
		// What has another parent by now has taken the number of a child that ended.
		if (typeof entry === "string" || entry.parentPid !== parent.pid) return [];
		return entry.condition === "zombie" ? [] : [{ ...factsOf(entry), parent }];
	});
	// Checked afterwards: until then, the parent's number belonged to no other process.
	const seen = table.entry(parent.pid);
	const isSame =
		typeof seen !== "string" && isSameProcess(factsOf(seen).identity, parent);
	return isSame ? children : [];
}
