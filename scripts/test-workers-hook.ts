// Loaded before the programs that tests start; most of them have no adapter.
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { OPTIONS_FILES, testWorkers } from "./test-workers.ts";

const options = OPTIONS_FILES.map((file) => pathToFileURL(file).href);
const ending = `\nObject.assign(DEFAULTS, ${JSON.stringify(testWorkers())});\n`;

registerHooks({
	load: (url, context, load) => {
		const loaded = load(url, context);
		return options.includes(url)
			? { ...loaded, source: String(loaded.source) + ending }
			: loaded;
	},
});
