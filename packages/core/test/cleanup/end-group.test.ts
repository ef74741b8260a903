import { expect, test } from "vitest";
import { endGroup } from "../../../../scripts/end-host.ts";
import { seenAs, start } from "./bench.ts";

test("a group whose number is another's by now is left alone", async () => {
	const { identity } = await start("forks-a-child.sh");
	const sent: string[] = [];
	const host = seenAs({
		signalGroup: (groupId) => {
			sent.push(`group ${groupId}`);
			return "sent";
		},
	});
	endGroup(host, { ...identity, startTime: "1" });
	expect(sent).toEqual([]);
	endGroup(host, identity);
	expect(sent).toEqual([`group ${identity.pid}`]);
});
