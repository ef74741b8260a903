import { expect, test } from "vitest";
import { readPsTable } from "../src/process-table.ts";

test("a table of ps is read: the living, their groups, and the marker behind the command", () => {
	const table = [
		"    1     0     1 Ss   /sbin/launchd",
		"41000 40999 41000 S+   python -m snakepit_bridge worker HOME=/Users/a SNAKEPIT_RUN=k3x9a2p:0a1b2c3d4e5f:boot:1:40999:Mon%20Nov%2021",
		"41001 40999 41001 Z    (python)",
		"",
	].join("\n");
	expect(readPsTable(table)).toMatchObject([
		{ pid: 1, parent: 0, group: 1, marker: undefined },
		{
			pid: 41_000,
			parent: 40_999,
			group: 41_000,
			marker: { runId: "k3x9a2p", hostPid: 40_999 },
		},
	]);
});
