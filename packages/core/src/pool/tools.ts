import type { ExecuteOptions } from "./calls/call-options.ts";

/**
 * The commands of a pool as function types: what each takes and what it answers.
 *
 * ```ts
 * type Tools = {
 *   add(args: { a: number; b: number }): number;
 *   primes(args: { below: number }): AsyncIterable<number>;
 *   // Items, and the result after the last of them.
 *   train(args: { epochs: number }): AsyncIterable<number, string>;
 * };
 * ```
 */
export type ToolMap = object;

/** A pool whose commands are not described: any name, any argument, an unknown result. */
export interface UntypedTools {
	// biome-ignore lint/suspicious/noExplicitAny: a result that is not described can be anything, and each caller knows what.
	[command: string]: (args?: unknown) => any;
}

/** The names of the commands. */
export type CommandOf<Tools extends ToolMap> = keyof Tools & string;
type Signature = (args: never) => unknown;
/** What a command takes; one that takes nothing may be given nothing as an object or a list, too. */
export type ArgsOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> = Tools[Command] extends () => unknown
	? Parameters<Tools[Command]> extends []
		? Record<string, never> | readonly [] | undefined
		: Parameters<Tools[Command]>[0]
	: Tools[Command] extends Signature
		? Parameters<Tools[Command]>[0]
		: never;
/** What follows a command's name: arguments that it needs cannot be left out. */
export type CallParametersOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> =
	undefined extends ArgsOf<Tools, Command>
		? [args?: ArgsOf<Tools, Command>, options?: ExecuteOptions]
		: [args: ArgsOf<Tools, Command>, options?: ExecuteOptions];
/** What a command answers. */
export type ResultOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> = Tools[Command] extends Signature
	? Awaited<ReturnType<Tools[Command]>>
	: never;
type IsAny<Value> = 0 extends 1 & Value ? true : false;
/** A result that is not described can be either. */
type IsStream<Result> =
	IsAny<Result> extends true
		? boolean
		: Result extends AsyncIterable<unknown>
			? true
			: false;
/** The names of the commands that answer once. */
export type AnswerCommandOf<Tools extends ToolMap> = {
	[Command in CommandOf<Tools>]: false extends IsStream<
		ResultOf<Tools, Command>
	>
		? Command
		: never;
}[CommandOf<Tools>];
/** The names of the commands that answer with a stream: those described as `AsyncIterable`. */
export type StreamCommandOf<Tools extends ToolMap> = {
	[Command in CommandOf<Tools>]: true extends IsStream<ResultOf<Tools, Command>>
		? Command
		: never;
}[CommandOf<Tools>];
/** What the items of a command's stream are. */
export type ChunkOf<Tools extends ToolMap, Command extends CommandOf<Tools>> =
	ResultOf<Tools, Command> extends AsyncIterable<infer Chunk>
		? Chunk
		: ResultOf<Tools, Command>;
/** What a command's stream returns after its last item; `unknown` where that is not described. */
export type StreamResultOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> =
	IsAny<ResultOf<Tools, Command>> extends true
		? ResultOf<Tools, Command>
		: ResultOf<Tools, Command> extends AsyncIterable<unknown, infer Result>
			? IsAny<Result> extends true
				? unknown
				: Result
			: unknown;
