export { jsonRpc } from "./json-rpc-adapter.ts";
export type {
	JsonRpcClient,
	JsonRpcHandler,
	JsonRpcOptions,
	JsonRpcProgress,
} from "./json-rpc-options.ts";
export type { AnswerEnd } from "./lines-adapter.ts";
export { type LinesOptions, lines } from "./lines-adapter.ts";
export type { StdioOptions } from "./stdio-options.ts";
