// Text of workers, for display.

export {
	bridgeFramesText,
	foldedFrames,
	framesOfBridge,
	tellingLine,
} from "./contract/telling-lines.ts";
export { plainText, terminalText } from "./contract/text.ts";
