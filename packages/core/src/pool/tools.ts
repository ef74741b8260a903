/**
 * The commands of a pool as function types: what each takes and what it answers.
 *
 * ```ts
 * type Tools = {
 *   add(args: { a: number; b: number }): number;
 *   primes(args: { below: number }): AsyncIterable<number>;
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
/** What a command takes. */
export type ArgsOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> = Tools[Command] extends Signature ? Parameters<Tools[Command]>[0] : never;
/** What a command answers. */
export type ResultOf<
	Tools extends ToolMap,
	Command extends CommandOf<Tools>,
> = Tools[Command] extends Signature
	? Awaited<ReturnType<Tools[Command]>>
	: never;
/** What the items of a command's stream are. */
export type ChunkOf<Tools extends ToolMap, Command extends CommandOf<Tools>> =
	ResultOf<Tools, Command> extends
		| AsyncIterable<infer Chunk>
		| Iterable<infer Chunk>
		? Chunk
		: ResultOf<Tools, Command>;
