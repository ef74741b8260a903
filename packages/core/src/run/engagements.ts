import { OptionsError, StartError } from "../errors.ts";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../protection.ts";
import type { ProcessSource } from "../world.ts";

/** The protections of one run: each is engaged once, whoever asks for it, and released with the run. */
export class Engagements {
	readonly #context: ProtectionContext;
	/** By name of the protection. */
	readonly #engaging = new Map<string, Promise<Engagement | undefined>>();
	readonly #engaged = new Set<Engagement>();

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
	 * Engages what is not engaged yet, and returns the process source of those
	 * given; `undefined` when none of them has one.
	 *
	 * @throws StartError `PROTECTION_UNAVAILABLE` where the protection says so; OptionsError when two want to be the
	 *   parent of the workers.
	 */
	async engage(
		protections: readonly Protection[],
	): Promise<ProcessSource | undefined> {
		const sources: { readonly of: string; readonly source: ProcessSource }[] =
			[];
		for (const protection of protections) {
			const engagement = await this.#one(protection);
			if (engagement?.source !== undefined)
				sources.push({ of: protection.name, source: engagement.source });
		}
		if (sources.length > 1)
			throw new OptionsError({
				code: "INVALID_OPTION",
				ran: "no",
				message: `createPool: "protections" names ${sources.map(({ of }) => of).join(" and ")}, and each wants to be the parent of the workers. Take one of them.`,
			});
		return sources[0]?.source;
	}

	/** Releases everything; resolves when nothing of it is left. */
	async release(): Promise<void> {
		const engaged = [...this.#engaged];
		this.#engaged.clear();
		this.#engaging.clear();
		await Promise.all(engaged.map((engagement) => engagement.release()));
	}

	async #one(protection: Protection): Promise<Engagement | undefined> {
		const { name } = protection;
		const engaging = this.#engaging.get(name) ?? this.#begin(protection);
		this.#engaging.set(name, engaging);
		return engaging;
	}

	async #begin(protection: Protection): Promise<Engagement | undefined> {
		const { name, whenUnavailable } = protection;
		try {
			const engagement = await protection.engage(this.#context);
			this.#engaged.add(engagement);
			for (const worker of this.#context.living()) {
				const { incarnation, identity, groupId } = worker;
				if (identity !== undefined && groupId !== undefined)
					engagement.watch?.({ incarnation, identity, groupId });
			}
			return engagement;
		} catch (error) {
			this.#engaging.delete(name); // The next pool tries again.
			const reason = error instanceof Error ? error.message : String(error);
			this.#context.emit({
				type: "protection.unavailable",
				wallMs: this.#context.clock.wall(),
				protection: name,
				reason,
			});
			if (whenUnavailable === "start") return undefined;
			throw new StartError({
				code: "PROTECTION_UNAVAILABLE",
				ran: "no",
				message: `The protection ${name} cannot be engaged, and it was made with whenUnavailable: "refuse". ${reason}`,
				cause: error,
			});
		}
	}
}
