import { describe, test } from "vitest";
import { FakeProcessHost } from "../../src/testing/fake-process-host.ts";
import { MemoryRegistry } from "../../src/testing/memory-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { registryContract } from "../registry/registry-contract.ts";

describe("the registry in memory keeps the registry contract", () => {
	const cases = registryContract({
		open: () => {
			const clock = new VirtualClock();
			const { events, record } = new EventRecorder();
			const { self } = new FakeProcessHost({ clock });
			const registry = new MemoryRegistry({
				clock,
				random: new SeededRandom(),
				owner: self,
				emit: record,
			});
			return {
				registry,
				owner: self,
				events,
				failWrites: () => registry.failWrites(),
				healWrites: () => registry.healWrites(),
			};
		},
	});
	test.each(cases)("$title", ({ run }) => run());
});
