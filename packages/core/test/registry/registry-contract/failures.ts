import assert from "node:assert/strict";
import { RegistryError } from "../../../src/contract/errors.ts";
import type { ContractCase } from "../../../src/testing/contract-case.ts";
import {
	CLOSED,
	type RegistryBench,
	type RegistryCase,
	reservationOf,
	reserve,
} from "./bench.ts";

/** What the ledger promises when it cannot be written: it is never a reason not to protect. */
export function registryFailureCases(
	onBench: RegistryCase,
): readonly ContractCase[] {
	const whenFailing = (
		title: string,
		body: (bench: RegistryBench, fail: () => void, heal: () => void) => void,
	): ContractCase =>
		onBench(title, (bench) => {
			const { failWrites, healWrites } = bench;
			if (!failWrites || !healWrites) return;
			try {
				body(bench, failWrites, healWrites);
			} finally {
				healWrites();
			}
		});
	return [
		whenFailing(
			"when the first reservation cannot be written, nothing is started",
			({ registry }, fail) => {
				fail();
				assert.throws(
					() => registry.reserve(reservationOf(registry)),
					(error) => error instanceof RegistryError,
				);
				assert.deepEqual(registry.living(), []);
			},
		),
		whenFailing(
			"when a later write fails, a running pool continues with what is in memory",
			({ registry, owner, events }, fail) => {
				const first = reserve(registry);
				fail();
				registry.activate(first.incarnation, owner, owner.pid);
				const second = reserve(registry);
				registry.end(first.incarnation, CLOSED);
				assert.deepEqual(
					registry.living().map((row) => row.incarnation),
					[second.incarnation],
				);
				assert.equal(registry.lookup(first.incarnation)?.status, "ended");
				assert.equal(registry.statistics().unwritten, 2);
				assert.equal(registry.flush(), 2);
				assert.deepEqual(namesOf(events), ["registry.degraded"]);
			},
		),
		whenFailing(
			"what could not be written is written when that is possible again",
			({ registry, events }, fail, heal) => {
				const first = reserve(registry);
				fail();
				registry.end(first.incarnation, CLOSED);
				heal();
				assert.equal(registry.flush(), 0);
				assert.equal(registry.statistics().unwritten, 0);
				assert.deepEqual(registry.lookup(first.incarnation)?.end, CLOSED);
				assert.deepEqual(namesOf(events), [
					"registry.degraded",
					"registry.recovered",
				]);
			},
		),
		whenFailing(
			"what is written only at the close is reported before the end of the run",
			({ registry, events }, fail, heal) => {
				const first = reserve(registry);
				fail();
				registry.end(first.incarnation, CLOSED);
				heal();
				registry.close();
				assert.deepEqual(namesOf(events), [
					"registry.degraded",
					"registry.recovered",
				]);
			},
		),
		whenFailing("closing never throws", ({ registry }, fail) => {
			reserve(registry);
			fail();
			registry.close();
			assert.equal(registry.state, "terminated");
		}),
	];
}

function namesOf(events: RegistryBench["events"]): readonly string[] {
	return events
		.map((event) => event.type)
		.filter(
			(type) => type === "registry.degraded" || type === "registry.recovered",
		);
}
