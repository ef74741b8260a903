/** A generated page: says so, and how to make it again. */
export function page(title: string, ...parts: readonly string[]): string {
	return `${[`# ${title}`, "<!-- Made by `npx pnpm@12 generate`; edit the tables in the code instead. -->", ...parts].join("\n\n")}\n`;
}

/** A number with its thousands apart. */
export function grouped(value: number): string {
	return value.toLocaleString("en-US").replaceAll(",", " ");
}
