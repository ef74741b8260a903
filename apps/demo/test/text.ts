import { type Line, paintLine, unpainted } from "../src/line.ts";

/** A line as its reader sees it. */
export function text(line: Line): string {
	return paintLine(line, unpainted).trimEnd();
}
