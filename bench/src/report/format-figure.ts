/** A figure to three significant digits, without an exponent. */
export function formatFigure(value: number): string {
	if (!Number.isFinite(value)) return "-";
	const size = Math.abs(value);
	if (size >= 100) return Math.round(value).toLocaleString("en-US");
	if (size >= 10) return value.toFixed(1);
	if (size >= 1) return value.toFixed(2);
	return size === 0 ? "0" : String(Number(value.toPrecision(2)));
}
