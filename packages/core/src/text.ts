// Text of workers, for display.

export { plainText, terminalText } from "./contract/text.ts";
