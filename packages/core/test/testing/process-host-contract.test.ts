import { text } from "node:stream/consumers";
import { describe, test } from "vitest";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { FakeProcessHost } from "../../src/testing/fake-process-host.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
	type ContractProgram,
	processHostContract,
} from "./process-host-contract.ts";

const programs: Readonly<Record<string, FakeProgram>> = {
	exitsWithSeven: (self) => {
		self.write("out");
		self.write("err", "stderr");
		self.exit(7);
	},
	idles: (self) => {
		self.write("up");
		return self.idle();
	},
	ignoresTerm: (self) => {
		self.ignore("SIGTERM").write("up");
		return self.idle();
	},
	forks: (self) => {
		self.fork((child) => child.idle());
		self.write("up");
		return self.idle();
	},
	copies: async (self) => {
		if (self.stdin) self.output.stdout.write(await text(self.stdin));
	},
	copiesControl: async (self) => {
		if (self.control) self.control.end(await text(self.control));
	},
};
const named = (executable: string): ContractProgram => ({
	executable,
	args: [],
});

describe("the fake process host keeps the contract of hosts", () => {
	const cases = processHostContract({
		host: () => new FakeProcessHost({ clock: new VirtualClock(), programs }),
		programs: {
			exitsWithSeven: named("exitsWithSeven"),
			idles: named("idles"),
			ignoresTerm: named("ignoresTerm"),
			forks: named("forks"),
			copies: named("copies"),
			copiesControl: named("copiesControl"),
		},
		directory: "/fake",
	});
	test.each(cases)("$title", ({ run }) => run());
});
