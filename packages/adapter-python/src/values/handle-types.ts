import type { CallLimits } from "@snakepit/core/adapter";
import type { Handle } from "./handle.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is not described can be anything, and each caller knows what.
export type Anything = any;

type IsAny<T> = 0 extends 1 & T ? true : false;
type Method = (...args: Anything) => unknown;

/** The names of the methods of the object behind a handle. */
export type MethodOf<T> = {
	[Name in keyof T & string]: T[Name] extends Method ? Name : never;
}[keyof T & string];

type ParametersOf<T, Name extends keyof T> =
	IsAny<T> extends true
		? readonly unknown[]
		: T[Name] extends Method
			? Readonly<Parameters<T[Name]>>
			: never;

/** The arguments after a method's name: positional ones, and those by name. */
export type GivenTo<T, Name extends keyof T> =
	readonly [] extends ParametersOf<T, Name>
		? [args?: ParametersOf<T, Name>, named?: Named, limits?: CallLimits]
		:
				| [args: ParametersOf<T, Name>, named?: Named, limits?: CallLimits]
				// Arguments by name are checked only in Python.
				| [args: readonly unknown[], named: Named, limits?: CallLimits];
/** The same of any method. */
export type Given = readonly [
	args?: readonly unknown[] | undefined,
	named?: Named | undefined,
	limits?: CallLimits | undefined,
];
/** Arguments by name. */
export type Named = Readonly<Record<string, unknown>>;

/** What a method returns. */
export type ReturnOf<T, Name extends keyof T> =
	IsAny<T> extends true
		? Anything
		: T[Name] extends Method
			? ReturnType<T[Name]>
			: never;

/** The same, kept in the worker. */
export type KeptOf<Result> =
	IsAny<Result> extends true
		? Handle
		: Result extends Handle<unknown>
			? Result
			: Handle<Result>;

/** The types of an iteration and of an index. */
export type ItemOf<T> =
	IsAny<T> extends true
		? Anything
		: T extends Iterable<infer Item>
			? Item
			: Anything;
