import type { ControlScope, RunSnapshot } from "@snakepit/control";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** What every view may use. */
export interface PageTools {
	readonly runId: string;
	/** What the program allows while it lives. */
	can(scope: ControlScope): boolean;
	/** Shows the outcome of an act to the viewer. */
	notify(text: string, tone: "good" | "bad"): void;
}

export const PageContext = createContext<PageTools>({
	runId: "",
	can: () => false,
	notify: () => {},
});

export function usePage(): PageTools {
	return useContext(PageContext);
}

/** The names of all workers of a run. @param of their pool; `""` stands for all. */
export function workerIds(
	run: RunSnapshot | undefined,
	of = "",
): readonly string[] {
	return (
		run?.pools
			.filter(({ pool }) => of === "" || pool === of)
			.flatMap(({ workers }) => workers.map(({ workerId }) => workerId)) ?? []
	);
}
