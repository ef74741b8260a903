import { OptionsError, StartError } from "../errors.ts";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../protection.ts";
import { messageOf } from "../worker/start-errors.ts";
import type { ProcessSource } from "../world.ts";

/** The protections of one run: engaged before its first worker, released after its last. */
export class Engagements {
	readonly #context: ProtectionContext;
	readonly #engaged: Engagement[] = [];

	constructor(context: ProtectionContext) {
		this.#context = context;
	}

	/** A worker was recorded. */
	watch(worker: WatchedWorker): void {
		for (const engagement of this.#engaged) engagement.watch?.(worker);
	}

	/** A worker has ended. */
	unwatch(incarnation: string): void {
		for (const engagement of this.#engaged) engagement.unwatch?.(incarnation);
	}

	/**
	 * Engages each and returns the process source of the one that has one.
	 *
	 * @throws StartError `PROTECTION_UNAVAILABLE` where the protection says so; OptionsError when two want to be the
	 *   parent of the workers. Those engaged before are for `release`.
	 */
	async engage(
		protections: readonly Protection[],
	): Promise<ProcessSource | undefined> {
		const sources: { readonly of: string; readonly source: ProcessSource }[] =
			[];
		for (const protection of protections) {
			const engagement = await this.#one(protection);
			if (engagement === undefined) continue;
			this.#engaged.push(engagement);
			if (engagement.source !== undefined)
				sources.push({ of: protection.name, source: engagement.source });
		}
		if (sources.length > 1)
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `"protections" names ${sources.map(({ of }) => of).join(" and ")}, and each wants to be the parent of the workers. Take one of them.`,
			});
		return sources[0]?.source;
	}

	/** Resolves when nothing of them is left. */
	async release(): Promise<void> {
		await Promise.all(this.#engaged.map((engagement) => engagement.release()));
	}

	/** `undefined` where the run does without it. */
	async #one(protection: Protection): Promise<Engagement | undefined> {
		const { name, whenUnavailable } = protection;
		const { clock, emit } = this.#context;
		try {
			return await protection.engage(this.#context);
		} catch (error) {
			const reason = messageOf(error);
			emit({
				type: "protection.unavailable",
				wallMs: clock.wall(),
				protection: name,
				reason,
			});
			if (whenUnavailable === "start") return undefined;
			throw new StartError({
				code: "PROTECTION_UNAVAILABLE",
				ran: "no",
				message: `The protection ${name} is not available here, and it was created with whenUnavailable: "refuse". ${reason}`,
				cause: error,
			});
		}
	}
}
