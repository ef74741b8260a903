import { type EventPlaces, RUN } from "./event-place.ts";
import { counted } from "./wording.ts";

/** Of the ledger. */
export const REGISTRY_EVENTS: Pick<
	EventPlaces,
	| "registry.set_aside"
	| "registry.relocated"
	| "registry.degraded"
	| "registry.recovered"
	| "registry.file_lost"
	| "registry.file_renewed"
	| "registry.reconciled"
> = {
	"registry.set_aside": {
		group: "process",
		told: {
			severity: "error",
			line: ({ path, reason }) => `${path} was set aside: ${reason}`,
			attributes: {
				"snakepit.path": ({ path }) => path,
				"snakepit.reason": ({ reason }) => reason,
			},
		},
	},
	"registry.relocated": {
		group: "process",
		told: {
			severity: "warn",
			line: ({ path, reason }) => `the ledger is in ${path}: ${reason}`,
			attributes: {
				"snakepit.path": ({ path }) => path,
				"snakepit.reason": ({ reason }) => reason,
			},
		},
	},
	"registry.degraded": {
		group: "process",
		metrics: ["snakepit.registry.unwritten"],
		told: {
			severity: "error",
			line: ({ message }) => message,
			attributes: {
				"error.type": ({ code }) => code,
				"snakepit.reason": ({ message }) => message,
				"snakepit.count": ({ unwritten }) => unwritten,
			},
		},
	},
	"registry.recovered": {
		group: "process",
		metrics: ["snakepit.registry.unwritten"],
		told: {
			severity: "info",
			line: ({ written }) =>
				`the ledger is written again: ${counted(written, "row")}`,
			attributes: { "snakepit.count": ({ written }) => written },
		},
	},
	"registry.file_lost": {
		group: "process",
		told: {
			severity: "error",
			line: ({ file, path, how }) =>
				`the ${file} of this run was ${how}: ${path}`,
			attributes: {
				...RUN,
				"snakepit.path": ({ path }) => path,
				"snakepit.reason": ({ how }) => how,
			},
		},
	},
	"registry.file_renewed": {
		group: "process",
		told: {
			severity: "info",
			line: ({ file, path }) =>
				`the ${file} of this run was made anew: ${path}`,
			attributes: { ...RUN, "snakepit.path": ({ path }) => path },
		},
	},
	"registry.reconciled": {
		group: "process",
		told: {
			severity: "warn",
			line: ({ vanished, strays, unwritten }) =>
				`the ledger did not agree with the process table: ${counted(vanished, "worker")} vanished, ${counted(strays, "stray")}, ${counted(unwritten, "row")} not written`,
			attributes: { ...RUN, "snakepit.count": ({ vanished }) => vanished },
		},
	},
};
