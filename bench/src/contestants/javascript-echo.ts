/** What the pools of JavaScript workers run. */
export default function echo(value: unknown): unknown {
	return value;
}
