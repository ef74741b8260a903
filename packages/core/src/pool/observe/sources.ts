import { OptionsError } from "../../contract/errors.ts";

/**
 * What a handler of requests speaks of: a pool or a run, the promise of one, as `createPool` and `openRun` return it, or a
 * list of these.
 */
export type Sources<Source> =
	| Source
	| Promise<Source>
	| readonly (Source | Promise<Source>)[];

/** One of them: where a promise was given, it may not be there yet, or could not be created. */
export type SourceState<Source> =
	| { readonly kind: "creating" }
	| { readonly kind: "created"; readonly source: Source }
	| { readonly kind: "failed"; readonly code: string | undefined };

/** Looks, for each request, at what a handler was given. */
export class SourceReader<Source extends object> {
	readonly #at: string;
	readonly #given: Sources<Source> | (() => Sources<Source>);
	readonly #isSource: (value: object) => boolean;
	readonly #promised = new WeakMap<Promise<Source>, SourceState<Source>>();

	/**
	 * @param at the function that takes them, for messages.
	 * @param given a function is called for each request.
	 * @throws OptionsError `INVALID_OPTION` if it is none of the forms.
	 */
	constructor(
		at: string,
		given: Sources<Source> | (() => Sources<Source>),
		isSource: (value: object) => boolean,
	) {
		this.#at = at;
		this.#given = given;
		this.#isSource = isSource;
		// Of promises it is known from now on how they end.
		if (typeof given !== "function") this.read();
	}

	/** @throws OptionsError `INVALID_OPTION` if a function returned, or a promise resolved to, something else. */
	read(): readonly SourceState<Source>[] {
		const given = this.#given;
		const sources =
			typeof given === "function" ? (given as () => Sources<Source>)() : given;
		const list = (Array.isArray(sources) ? sources : [sources]) as readonly (
			| Source
			| Promise<Source>
		)[];
		return list.map((source) => {
			const state = this.#stateOf(source);
			if (state.kind !== "created" || this.#isRight(state.source)) return state;
			throw new OptionsError({
				code: "INVALID_OPTION",
				message: `${this.#at}: give it a pool or a run, the promise of one, a list of these, or a function that returns one of them.`,
			});
		});
	}

	#isRight(source: unknown): boolean {
		return (
			typeof source === "object" && source !== null && this.#isSource(source)
		);
	}

	#stateOf(source: Source | Promise<Source>): SourceState<Source> {
		return isPromise<Source>(source)
			? (this.#promised.get(source) ?? this.#watch(source))
			: { kind: "created", source };
	}

	#watch(promise: Promise<Source>): SourceState<Source> {
		const creating: SourceState<Source> = { kind: "creating" };
		this.#promised.set(promise, creating);
		promise.then(
			(source) => this.#promised.set(promise, { kind: "created", source }),
			(error) => {
				const { code } = (error ?? {}) as { readonly code?: unknown };
				this.#promised.set(promise, {
					kind: "failed",
					code: typeof code === "string" ? code : undefined,
				});
			},
		);
		return creating;
	}
}

/** Also one of another realm. */
function isPromise<Value>(source: unknown): source is Promise<Value> {
	return (
		typeof source === "object" &&
		source !== null &&
		"then" in source &&
		typeof source.then === "function"
	);
}
