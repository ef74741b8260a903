import type { ToolSnapshot } from "@snakepit/control";

/** How a tool answers, if it does not give one answer to each call. */
export function toolKind({
	shape,
	batchMax,
}: Pick<ToolSnapshot, "shape" | "batchMax">): string | undefined {
	if (typeof batchMax === "number")
		return `Calls that wait together run as one batch of at most ${batchMax}.`;
	return shape === "stream"
		? "It answers with a stream; its first 1,000 items are shown."
		: undefined;
}
