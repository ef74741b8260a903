// Text of workers, for display.

export { tellingLine } from "./contract/telling-lines.ts";
export { plainText, terminalText } from "./contract/text.ts";
