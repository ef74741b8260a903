import { expect, test } from "vitest";
import { endHost } from "../../../../scripts/end-host.ts";
import { eventually, Host, machine, temporaryDirectory } from "./hosts.ts";

test("the worker of a host whose report no test has read ends with that host, and no other host's", async () => {
	const dataDir = temporaryDirectory();
	const [unread, other] = [
		new Host({ dataDir, workers: ["ignores-sigterm.sh"] }),
		new Host({ dataDir, workers: ["ignores-sigterm.sh"] }),
	];
	const workersOf = ({ child }: Host) =>
		machine.marked().filter(({ marker }) => marker.hostPid === child.pid);
	const self = machine.observe(unread.child.pid ?? 0);
	await other.up();
	await eventually("its worker", () => workersOf(unread).length > 0);

	await endHost(machine, unread.child, self);
	await eventually(
		"the end of its worker",
		() => workersOf(unread).length === 0,
	);
	expect(workersOf(other).length).toBeGreaterThan(0);
});
