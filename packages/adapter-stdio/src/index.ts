export { jsonRpc } from "./json-rpc/json-rpc-adapter.ts";
export type { JsonRpcClient } from "./json-rpc/json-rpc-client.ts";
export type {
	JsonRpcHandler,
	JsonRpcOptions,
	JsonRpcProgress,
} from "./json-rpc/options.ts";
export type { AnswerEnd } from "./lines/answer-reader.ts";
export { type LinesOptions, lines } from "./lines/lines-adapter.ts";
export type { StdioOptions } from "./stdio-options.ts";
