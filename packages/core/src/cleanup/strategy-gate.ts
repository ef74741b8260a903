import type {
	CleanupStrategy,
	FoundOrphan,
} from "../contract/cleanup-strategy.ts";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import { processKey } from "../contract/identity.ts";
import type { ProcessHost } from "../contract/world.ts";
import { withDeadline } from "../deadline.ts";
import type { Orphan } from "./orphan-search.ts";

/** Longer than a service needs to answer a question. Nothing else of the program has started meanwhile. */
const ANSWER_MS = 10_000;

export interface StrategyGateParts {
	readonly strategy: CleanupStrategy | undefined;
	readonly host: Pick<ProcessHost, "keepAlive">;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
}

/**
 * Asks the user's strategy once about each orphan, and returns whether the orphan is ended. One that throws is
 * reported, and the orphan is ended. One that does not answer in time is reported and not asked again: what it has not
 * decided is spared, because a kill cannot be undone.
 */
export function strategyGate({
	strategy,
	host,
	clock,
	emit,
}: StrategyGateParts): (orphan: Orphan) => Promise<boolean> {
	if (strategy === undefined) return async () => true;
	const answers = new Map<string, boolean>();
	let silent = false;
	const report = (error: unknown): void =>
		emit({
			type: "listener.threw",
			wallMs: clock.wall(),
			of: "cleanup",
			error,
		});
	const ask = async (orphan: FoundOrphan): Promise<boolean> => {
		// The timer does not, and a promise that never settles does not either.
		const release = host.keepAlive();
		try {
			const answer = await withDeadline(
				Promise.resolve(strategy(orphan)),
				{ clock, ms: ANSWER_MS, counts: "running" },
				() => "late" as const,
			);
			if (answer !== "late") return answer !== "spare";
			silent = true;
			report(noAnswer(orphan));
			return false;
		} catch (error) {
			report(error);
			return true;
		} finally {
			release();
		}
	};
	return async (orphan) => {
		const { ofRun, pid, foundBy, incarnation, fingerprint } = orphan;
		const key = processKey(orphan.identity);
		const answer =
			answers.get(key) ??
			(!silent &&
				(await ask({ ofRun, pid, foundBy, incarnation, fingerprint })));
		answers.set(key, answer);
		return answer;
	};
}

function noAnswer({ pid, ofRun }: FoundOrphan): Error {
	return new Error(
		`cleanup was asked about process ${pid} of the dead run ${ofRun} and did not answer within ${ANSWER_MS / 1000} s. ` +
			"That process, and those that it was not asked about yet, are spared; the next start asks again. " +
			'Return "reap" or "spare" sooner, for example with a deadline of your own.',
	);
}
