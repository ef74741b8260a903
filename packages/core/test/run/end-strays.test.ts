import { expect, test } from "vitest";
import type {
	KillResult,
	KillTarget,
	ProcessKiller,
} from "../../src/cleanup/process-killer.ts";
import { markerOf, type RunId } from "../../src/contract/identity.ts";
import type { MarkedProcess } from "../../src/contract/world.ts";
import { endStrays } from "../../src/run/start-run.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { EventRecorder } from "../../src/testing.ts";
import { seenAs } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { machine } from "../cleanup/hosts.ts";

const RUN = "str1234" as RunId;

function stray(
	pid: number,
	runId = RUN,
	incarnation: string | undefined = `${runId}-1`,
): MarkedProcess {
	return {
		identity: deadOwner({ pid }),
		groupId: pid,
		marker: markerOf(runId, machine.self, "d"),
		incarnation,
		name: `stray ${pid}`,
	};
}

/** Each target meets the fate that its pid has here. */
function killerOf(
	fates: Readonly<Record<number, KillResult<KillTarget>["fate"]>>,
): Pick<ProcessKiller, "end"> {
	return {
		end: async (find) =>
			(await find()).map((target) => {
				const fate = fates[target.identity.pid];
				if (fate === undefined) throw new Error("It is none of this run's.");
				return { target, fate };
			}),
	};
}

test("what carries the marker of a run that ends is reported as it ended, and what does not end is named", async () => {
	const events = new EventRecorder();
	const marked = [
		stray(101),
		stray(102),
		stray(103),
		stray(104, "oth1234" as RunId),
	];
	// A program of the host itself, as a companion is.
	const ownProgram = { ...stray(105), incarnation: undefined };
	const survivors = await endStrays({
		...{ runId: RUN, clock: new VirtualClock(), emit: events.record },
		host: seenAs({ marked: () => [...marked, ownProgram] }),
		killer: killerOf({ 101: "ended_on_term", 102: "killed", 103: "survived" }),
	});
	expect(survivors).toEqual([{ pid: 103, name: "stray 103" }]);
	expect(events.of("orphan.reaped").map(({ pid, how }) => [pid, how])).toEqual([
		[101, "ended_on_term"],
		[102, "killed"],
	]);
	expect(events.of("orphan.spared").map(({ pid }) => pid)).toEqual([103]);
});
