// The building blocks of adapters for protocols over standard input and output.

export { answerInParts, type Pausable } from "./answer-in-parts.ts";
export { contentLengthFraming } from "./framing/content-length-framing.ts";
export {
	type FrameReader,
	type Framing,
	FramingError,
} from "./framing/framing.ts";
export { lineFraming } from "./framing/line-framing.ts";
export type { Failure } from "./json-rpc/message.ts";
export { refusedBy } from "./json-rpc/translate-error.ts";
export { STDIO_CHECKS, STDIO_DEFAULTS } from "./stdio-options.ts";
