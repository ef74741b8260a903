// The building blocks of adapters for protocols over standard input and output.

export {
	contentLengthFraming,
	type FrameReader,
	type Framing,
	FramingError,
	lineFraming,
} from "./framing.ts";
export type { Failure } from "./json-rpc-peer.ts";
export { refusedBy } from "./json-rpc-peer.ts";
export { STDIO_CHECKS, STDIO_DEFAULTS } from "./stdio-options.ts";
