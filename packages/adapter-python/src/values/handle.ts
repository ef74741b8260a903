import { InputError, type PoolSession, SnakepitError } from "@snakepit/core";
import {
	brandAs,
	type CallLimits,
	type CallSession,
} from "@snakepit/core/adapter";
import { decodeValue } from "./decode-value.ts";
import type { MessagePackReader } from "./message-pack-reader.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is not described can be anything, and each caller knows what.
type Anything = any;

type IsAny<T> = 0 extends 1 & T ? true : false;
type Method = (...args: Anything) => unknown;

/** The names of the methods of the object behind a handle. */
type MethodOf<T> = {
	[Name in keyof T & string]: T[Name] extends Method ? Name : never;
}[keyof T & string];

type ParametersOf<T, Name extends keyof T> =
	IsAny<T> extends true
		? readonly unknown[]
		: T[Name] extends Method
			? Readonly<Parameters<T[Name]>>
			: never;

/** The arguments after a method's name: positional ones, and those by name. */
type GivenTo<T, Name extends keyof T> =
	readonly [] extends ParametersOf<T, Name>
		? [args?: ParametersOf<T, Name>, named?: Named, limits?: CallLimits]
		:
				| [args: ParametersOf<T, Name>, named?: Named, limits?: CallLimits]
				// Arguments by name are checked only in Python.
				| [args: readonly unknown[], named: Named, limits?: CallLimits];
/** The same of any method. */
type Given = readonly [
	args?: readonly unknown[] | undefined,
	named?: Named | undefined,
	limits?: CallLimits | undefined,
];
/** Arguments by name. */
type Named = Readonly<Record<string, unknown>>;

/** What a method returns. */
type ReturnOf<T, Name extends keyof T> =
	IsAny<T> extends true
		? Anything
		: T[Name] extends Method
			? ReturnType<T[Name]>
			: never;

/** The same, kept in the worker. */
type KeptOf<Result> =
	IsAny<Result> extends true
		? Handle
		: Result extends Handle<unknown>
			? Result
			: Handle<Result>;

/** The types of an iteration and of an index. */
type ItemOf<T> =
	IsAny<T> extends true
		? Anything
		: T extends Iterable<infer Item>
			? Item
			: Anything;

/** What ends every object of a session: then there is nothing left to release. */
const RELEASED_BY: readonly string[] = [
	"SESSION_CLOSED",
	"SESSION_LOST",
	"POOL_CLOSED",
];

/**
 * An object that stays in the Python worker of a session. It can be an argument of other calls of that session, where
 * it arrives as the object. The session keeps it until it is released or the session ends.
 *
 * @typeParam T its methods and attributes, as TypeScript sees them.
 */
export class Handle<T = Anything> implements AsyncDisposable {
	static {
		brandAs(Handle, "value.Handle");
	}

	/** For the compiler only: what it refers to. */
	declare protected readonly refersTo: T;
	/** The class of the object in Python. */
	readonly type: string;
	/** What the worker calls it. */
	readonly token: Uint8Array;
	#state:
		| { readonly kind: "held"; readonly session: CallSession }
		| { readonly kind: "without session" }
		| { readonly kind: "released" };

	/** @throws InputError `HANDLE_REFUSED` in a session that may move to another worker. */
	constructor(
		token: Uint8Array,
		type: string,
		session: CallSession | undefined,
	) {
		this.token = token;
		this.type = type;
		if (session !== undefined) requireStrict(session, "maybe");
		this.#state =
			session === undefined
				? { kind: "without session" }
				: { kind: "held", session };
	}

	/**
	 * Calls a method: `call(name, [args], { name: value })`. The result is a value, or a handle where it is none.
	 *
	 * @throws ToolError what Python raised; InputError `HANDLE_INVALID`, `HANDLE_REFUSED`; WorkerLostError `SESSION_LOST`;
	 *   and as `session.execute`. So do all others.
	 */
	call<Name extends MethodOf<T>>(
		name: Name,
		...given: GivenTo<T, Name>
	): Promise<ReturnOf<T, Name>> {
		return this.#method("call", name, given as Given);
	}

	/** Calls a method, and keeps the result in the worker also where it is a value. */
	keep<Name extends MethodOf<T>>(
		name: Name,
		...given: GivenTo<T, Name>
	): Promise<KeptOf<ReturnOf<T, Name>>> {
		return this.#method("keep", name, given as Given);
	}

	/** Calls the object itself, as a function or a class. */
	invoke(
		args?: readonly unknown[],
		named?: Named,
		limits?: CallLimits,
	): Promise<Anything> {
		return this.#method("call", null, [args, named, limits]);
	}

	/** Returns an attribute: a value, or a handle where it is none. */
	get<Name extends keyof T & string>(
		name: Name,
		limits?: CallLimits,
	): Promise<T[Name]> {
		return this.#execute("get", [name], limits);
	}

	/** Returns `object[key]`. */
	item(key: unknown, limits?: CallLimits): Promise<ItemOf<T>> {
		return this.#execute("item", [key], limits);
	}

	/** Awaits the object, as a coroutine or a future of Python's. */
	awaited(limits?: CallLimits): Promise<Anything> {
		return this.#execute("await", [], limits);
	}

	/** Returns the object as a value. @throws InputError `VALUE_NOT_TRANSFERABLE`. */
	value(limits?: CallLimits): Promise<Anything> {
		return this.#execute("value", [], limits);
	}

	/**
	 * Iterates over the object; leaving the loop ends that in the worker. A method, because a result that can be iterated
	 * by itself is a stream.
	 */
	iterate(limits?: CallLimits): AsyncIterableIterator<ItemOf<T>> {
		const items = this.#session().stream("snakepit.iterate", [this], limits);
		return items as AsyncIterableIterator<ItemOf<T>>;
	}

	/** The worker drops the object. Idempotent; without effect when the session is over. After an error it can be tried again. */
	async release(): Promise<void> {
		const state = this.#state;
		if (state.kind !== "held") return;
		this.#state = { kind: "released" };
		try {
			await state.session.execute("snakepit.release", [this.token]);
		} catch (error) {
			if (error instanceof SnakepitError && RELEASED_BY.includes(error.code))
				return;
			this.#state = state;
			throw error;
		}
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.release();
	}

	toJSON(): { readonly handle: string } {
		return { handle: this.type };
	}

	async #method(
		how: "call" | "keep",
		name: string | null,
		[args = [], named = {}, limits]: Given,
	): Promise<Anything> {
		requireGiven(this.type, how, name, args, named);
		return this.#execute(how, [name, args, named], limits);
	}

	async #execute(
		what: string,
		args: readonly unknown[],
		limits: CallLimits | undefined,
	): Promise<Anything> {
		const session = this.#session();
		return await session.execute(`snakepit.${what}`, [this, ...args], limits);
	}

	#session(): CallSession {
		const state = this.#state;
		if (state.kind === "held") return state.session;
		const released = state.kind === "released";
		throw new InputError({
			code: released ? "HANDLE_INVALID" : "HANDLE_REFUSED",
			ran: "no",
			message: released
				? `The handle of an object of type ${this.type} was released. Ask for another one.`
				: `The handle of an object of type ${this.type} arrived outside of a session. Make the call in pool.session({ affinity: "strict" }).`,
		});
	}
}

/**
 * Imports a Python module into the worker of a session: one of those that the adapter's option `handles.imports` names.
 *
 * @throws InputError `HANDLE_REFUSED`; ToolError what Python raised; and as `session.execute`.
 */
export async function importModule<T = Anything>(
	session: PoolSession<Anything>,
	name: string,
	limits?: CallLimits,
): Promise<Handle<T>> {
	requireStrict(session, "no");
	const module = await session.execute("snakepit.import", [name], limits);
	return module as Handle<T>;
}

/** Without types it is easily called as `call(name, 1)` or `call(name, { x: 1 })`. */
function requireGiven(
	type: string,
	how: "call" | "keep",
	name: string | null,
	args: unknown,
	named: unknown,
): void {
	const isRecord =
		typeof named === "object" && named !== null && !Array.isArray(named);
	if (Array.isArray(args) && isRecord) return;
	const form =
		name === null
			? "invoke([args], { name: value })"
			: `${how}(name, [args], { name: value })`;
	throw new InputError({
		code: "INVALID_ARGUMENTS",
		ran: "no",
		message: `The handle of a ${type} takes positional arguments as an array, then those by name as an object: ${form}.`,
	});
}

function requireStrict(
	{ id, affinity }: Pick<CallSession, "id" | "affinity">,
	ran: "no" | "maybe",
): void {
	if (affinity === "strict") return;
	throw new InputError({
		code: "HANDLE_REFUSED",
		ran,
		message: `Session "${id}" may move to another worker, which does not have its objects. Open it with pool.session({ affinity: "strict" }).`,
	});
}

/** Reads the handle in an extension: a token, and the name of the object's class. */
export function readHandle(
	reader: MessagePackReader,
	[token, type]: readonly unknown[],
	session: CallSession | undefined,
): Handle {
	return token instanceof Uint8Array && typeof type === "string"
		? new Handle(token, type, session)
		: reader.fail("a handle without a token and a type");
}

/** Releases the object of a handle that no caller gets, because its call was cancelled. Other values need nothing. */
export function releaseUnclaimed(value: unknown): void {
	// If this fails, the end of the session releases it.
	if (value instanceof Handle) value.release().catch(() => {});
}

/** The same for a value that was not read. */
export function releaseUnread(
	encoded: Uint8Array,
	session: CallSession | undefined,
): void {
	if (session?.affinity !== "strict" || encoded.length === 0) return;
	try {
		releaseUnclaimed(
			decodeValue(encoded, undefined, 0, encoded.length, session),
		);
	} catch {
		// It is not a value, and it is not needed.
	}
}
