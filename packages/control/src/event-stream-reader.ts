import { ControlError } from "./control-error.ts";

/** The longest record, in characters: a server that sends more is not a Snakepit server. */
const RECORD_CHARACTERS = 64 << 20;

/** Reads server-sent events as this package's server writes them: one line with the name, one with JSON. */
export async function* readEventStream(
	source: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly name: string; readonly data: unknown }, void> {
	const decoder = new TextDecoder();
	let rest = "";
	for await (const chunk of source) {
		const records = (rest + decoder.decode(chunk, { stream: true })).split(
			"\n\n",
		);
		rest = records.pop() ?? "";
		if (rest.length > RECORD_CHARACTERS) throw invalid(rest);
		for (const record of records) {
			const match = /^event: (.*)\ndata: (.*)$/s.exec(record);
			if (match === null) throw invalid(record);
			const [, name = "", data = ""] = match;
			yield { name, data: JSON.parse(data) };
		}
	}
}

function invalid(text: string): ControlError {
	return new ControlError({
		code: "INVALID_ANSWER",
		message: `The stream contains something that is not an event: ${text.slice(0, 100)}.`,
	});
}
