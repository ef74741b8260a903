import { counted, type EventPlaces, RUN } from "./event-place.ts";

/** Of the ledger. */
export const REGISTRY_EVENTS: EventPlaces<"registry"> = {
	"registry.set_aside": {
		group: "process",
		severity: "error",
		line: ({ path, reason }) => `${path} was set aside: ${reason}`,
		attributes: {
			"snakepit.path": "path",
			"snakepit.reason": "reason",
		},
	},
	"registry.relocated": {
		group: "process",
		severity: "warn",
		line: ({ path, reason }) => `the ledger is in ${path}: ${reason}`,
		attributes: {
			"snakepit.path": "path",
			"snakepit.reason": "reason",
		},
	},
	"registry.degraded": {
		group: "process",
		metrics: ["snakepit.registry.unwritten"],
		severity: "error",
		line: ({ message }) => message,
		attributes: {
			"error.type": "code",
			"snakepit.reason": "message",
			"snakepit.count": "unwritten",
		},
	},
	"registry.recovered": {
		group: "process",
		metrics: ["snakepit.registry.unwritten"],
		severity: "info",
		line: ({ written }) =>
			`the ledger is written again: ${counted(written, "row")}`,
		attributes: { "snakepit.count": "written" },
	},
	"registry.file_lost": {
		group: "process",
		severity: "error",
		line: ({ file, path, how }) =>
			`the ${file} of this run was ${how}: ${path}`,
		attributes: {
			...RUN,
			"snakepit.path": "path",
			"snakepit.reason": "how",
		},
	},
	"registry.file_renewed": {
		group: "process",
		severity: "info",
		line: ({ file, path }) => `the ${file} of this run was recreated: ${path}`,
		attributes: { ...RUN, "snakepit.path": "path" },
	},
	"registry.reconciled": {
		group: "process",
		severity: "warn",
		line: ({ vanished, strays, unwritten }) =>
			`the ledger did not agree with the process table: ${counted(vanished, "worker")} vanished, ${counted(strays, "stray")}, ${counted(unwritten, "row")} not written`,
		attributes: { ...RUN, "snakepit.count": "vanished" },
	},
};
