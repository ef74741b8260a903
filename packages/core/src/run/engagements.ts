import { StartError } from "../errors.ts";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../protection.ts";
import { messageOf } from "../thrown.ts";

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
	 * Engages each.
	 *
	 * @throws StartError `PROTECTION_UNAVAILABLE` where the protection says so. Those engaged before are for `release`.
	 */
	async engage(protections: readonly Protection[]): Promise<void> {
		for (const protection of protections) {
			const engagement = await this.#one(protection);
			if (engagement !== undefined) this.#engaged.push(engagement);
		}
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
