import { StartError } from "../contract/errors.ts";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../contract/protection.ts";
import { messageOf } from "../contract/thrown.ts";
import { afterRunning } from "../deadline.ts";

/** Longer than the start of a process takes on a busy machine. */
const ENGAGE_MS = 60_000;
/** Longer than its processes need to end: a run that is closed does not wait for ever. */
const RELEASE_MS = 10_000;

interface Engaged {
	readonly name: string;
	readonly engagement: Engagement;
}

/**
 * The protections of one run: engaged before its first worker, released after its last. They are other people's code:
 * one that throws or never answers harms neither the run nor the others.
 */
export class Engagements {
	readonly #context: ProtectionContext;
	readonly #engaged: Engaged[] = [];

	constructor(context: ProtectionContext) {
		this.#context = context;
	}

	/** A worker was recorded. */
	watch(worker: WatchedWorker): void {
		for (const { name, engagement } of this.#engaged)
			this.#guard(`${name}.watch`, () => engagement.watch?.(worker));
	}

	/** A worker has ended. */
	unwatch(incarnation: string): void {
		for (const { name, engagement } of this.#engaged)
			this.#guard(`${name}.unwatch`, () => engagement.unwatch?.(incarnation));
	}

	/**
	 * Engages each.
	 *
	 * @throws StartError `PROTECTION_UNAVAILABLE` where the protection says so. Those engaged before are for `release`.
	 */
	async engage(protections: readonly Protection[]): Promise<void> {
		for (const protection of protections) {
			const engagement = await this.#one(protection);
			const { name } = protection;
			if (engagement !== undefined) this.#engaged.push({ name, engagement });
		}
	}

	/** Resolves when nothing of them is left, or they do not say so in time. */
	async release(): Promise<void> {
		await Promise.all(
			this.#engaged.map(async ({ name, engagement }) => {
				try {
					await this.#within(RELEASE_MS, "release", engagement.release());
				} catch (error) {
					this.#threw(`${name}.release`, error);
				}
			}),
		);
	}

	/** `undefined` where the run does without it. */
	async #one(protection: Protection): Promise<Engagement | undefined> {
		const { name, whenUnavailable } = protection;
		const { clock, emit } = this.#context;
		let engaging: Promise<Engagement> | undefined;
		try {
			engaging = protection.engage(this.#context);
			return await this.#within(ENGAGE_MS, "engage", engaging);
		} catch (error) {
			// One that comes too late is not needed any more.
			engaging?.then((late) => late.release()).catch(() => {});
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

	/** @throws Error when it does not settle in time. */
	async #within<Value>(
		ms: number,
		what: string,
		settling: Promise<Value>,
	): Promise<Value> {
		const { clock, host } = this.#context;
		const late = Promise.withResolvers<never>();
		const timer = afterRunning(clock, ms, () =>
			late.reject(new Error(`Its ${what}() did not settle within ${ms} ms.`)),
		);
		const endHold = host.keepAlive();
		try {
			return await Promise.race([settling, late.promise]);
		} finally {
			timer.cancel();
			endHold();
		}
	}

	#guard(of: string, act: () => void): void {
		try {
			act();
		} catch (error) {
			this.#threw(of, error);
		}
	}

	#threw(of: string, error: unknown): void {
		const { clock, emit } = this.#context;
		emit({ type: "listener.threw", wallMs: clock.wall(), of, error });
	}
}
