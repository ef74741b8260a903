// The types of a pool's commands, for functions that work with any pool.

export type {
	ArgsOf,
	ChunkOf,
	CommandOf,
	ResultOf,
	StreamCommandOf,
	StreamResultOf,
	ToolMap,
	UntypedTools,
} from "./pool/tools.ts";
