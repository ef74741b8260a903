import type { Entries } from "./error-entry.ts";

/** What keeps a pool or a worker from starting. */
export const START_ERRORS = {
	INVALID_OPTION: {
		thrown: "OptionsError",
		ran: "no",
		meaning: "An option is out of range or of the wrong type.",
		remedy: "The message names the option and what it takes.",
	},
	RUN_OPTION_CONFLICT: {
		thrown: "OptionsError",
		ran: "no",
		meaning:
			"This program has a run open in the same `dataDir`, and it was opened with another value of an option of the run.",
		remedy:
			"The message names the option and both values. Pass the same value or leave it out, set it where the run is opened, or use another `dataDir`.",
	},
	UNKNOWN_OPTION: {
		thrown: "OptionsError",
		ran: "no",
		meaning: "There is no such option.",
		remedy: "The message names the nearest one.",
	},
	PLATFORM_UNSUPPORTED: {
		thrown: "StartError",
		ran: "no",
		meaning: "Pools cannot be started on this system (Windows).",
		remedy: "Linux or macOS; on Windows, WSL.",
	},
	NODE_TOO_OLD: {
		thrown: "StartError",
		ran: "no",
		meaning: "Node is older than 22.",
		remedy: "A current Node.",
	},
	RUNTIME_DIRECTORY_UNSAFE: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"The directory for sockets is a link, belongs to somebody else, or others may write in it.",
		remedy: "Repair it, or set `XDG_RUNTIME_DIR`.",
	},
	RUNTIME_DIRECTORY_UNWRITABLE: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"The directory for sockets and scratch files is full, read-only, or the system refuses to listen in it.",
		remedy: "What the message says, or set `XDG_RUNTIME_DIR`.",
	},
	OUT_OF_DESCRIPTORS: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"This program, or the whole system, has as many files open as it may (`EMFILE`, `ENFILE`).",
		remedy: "Raise `ulimit -n`, or close what the program has open.",
	},
	SOCKET_PATH_TOO_LONG: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"The path of a socket would pass the system's limit of about 100 bytes.",
		remedy: "Set `XDG_RUNTIME_DIR` to a shorter path.",
	},
	SPAWN_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning: "The system could not start the program.",
		remedy: "The system's own reason is in the message.",
	},
	WORKER_EXITED_EARLY: {
		thrown: "StartError",
		ran: "no",
		meaning: "The worker ended before it was ready.",
		remedy: "Its last lines are in the message.",
	},
	RUN_CLOSED: {
		thrown: "StartError",
		ran: "no",
		meaning: "`run.createPool()` was called after `run.close()`.",
		remedy: "Make pools before the run is closed, or open another run.",
	},
	PROTECTION_UNAVAILABLE: {
		thrown: "StartError",
		ran: "no",
		meaning:
			'A protection made with `whenUnavailable: "refuse"` cannot work on this machine.',
		remedy: "The message says what it lacks; `doctor`.",
	},
	START_WITHDRAWN: {
		thrown: "StartError",
		ran: "no",
		meaning: "The pool was closed while the worker started.",
		remedy: "Nothing; the process is ended.",
	},
	START_TIMEOUT: {
		thrown: "StartError",
		ran: "no",
		meaning: "The worker was not ready in time.",
		remedy:
			"`start.timeoutMs`, or a lighter import: on Linux the last lines of a Python worker show which one it was in.",
	},
	READY_LINE_INVALID: {
		thrown: "StartError",
		ran: "no",
		meaning: "The answer on descriptor 3 is neither ready nor failed.",
		remedy: "[The bridge protocol](../bridge-protocol.md).",
	},
	READY_LINE_TOO_LONG: {
		thrown: "StartError",
		ran: "no",
		meaning: "More than 64 KiB came on descriptor 3 without a line break.",
		remedy: "Only the ready line belongs there.",
	},
	WORKER_REFUSED: {
		thrown: "StartError",
		ran: "no",
		meaning: "The worker said that it cannot start, with a code of its own.",
		remedy: "Its reason is in the message.",
	},
	CONNECT_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning: "The worker started and the adapter could not connect to it.",
		remedy: "The adapter's error is the `cause`.",
	},
	RESTART_BUDGET_SPENT: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"Workers ended again and again; the pool waits before it tries again.",
		remedy: "Look at `worker.exited`; `start.maxRestarts`.",
	},
	PRELOAD_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded parent could not be started, or an import of it raised. Told by `preload.unavailable`.",
		remedy: "The message has the reason; workers start by themselves.",
	},
	PRELOAD_LOST: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded parent ended too often. Told by `preload.unavailable`.",
		remedy: "Look at `preload.ended`; workers start by themselves.",
	},
	FORK_UNSAFE_PLATFORM: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"This system does not allow a fork without an exec. Told by `preload.unavailable`.",
		remedy: "Leave `preload` out.",
	},
	FORK_UNSAFE_THREADS: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded import has started threads, which a fork does not have. Told by `preload.unavailable`.",
		remedy: "Start them in a start-up hook.",
	},
	FORK_UNSAFE_GRPC: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded import has initialised gRPC. Told by `preload.unavailable`.",
		remedy: "Make channels and servers in a start-up hook.",
	},
	FORK_UNSAFE_CUDA: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded import has initialised the driver of a GPU. Told by `preload.unavailable`.",
		remedy: "Do that in a start-up hook.",
	},
	FORK_UNSAFE_CONNECTIONS: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"A preloaded import has opened sockets, which all workers would share. Told by `preload.unavailable`.",
		remedy: "Open connections and event loops in a start-up hook.",
	},
	PROTOCOL_MISMATCH: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"The npm and the PyPI package speak different versions of the protocol.",
		remedy: "Bring the one that the message names up to date.",
	},
	VERSION_MISMATCH: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"`snakepit-bridge` and the npm package are of different releases: the first number of their versions differs, or the first two while it is 0.",
		remedy: "One of the two commands in the message.",
	},
	PYTHON_NOT_FOUND: {
		thrown: "StartError",
		ran: "no",
		meaning: "No interpreter was found.",
		remedy: "The message lists where it was looked for; `python`.",
	},
	PYTHON_UNUSABLE: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"An interpreter is named - by `python`, `environment`, `VIRTUAL_ENV`, a `.venv` - and cannot be used: it is not there, does not run, or this user may not read it or its packages. No other is taken in its place.",
		remedy:
			"The message says what is wrong with it: the rights of its files, a new environment, another `python`.",
	},
	PYTHON_TOO_OLD: {
		thrown: "StartError",
		ran: "no",
		meaning: "The interpreter is older than 3.10.",
		remedy: "Another one: `python`.",
	},
	BRIDGE_MISSING: {
		thrown: "StartError",
		ran: "no",
		meaning:
			"The chosen interpreter has no `snakepit-bridge`, a `pythonEnvironment()` has it not among its requirements, or a worker cannot import what the bridge depends on.",
		remedy:
			"The message has the command that installs it, says why this interpreter was chosen and which were passed over.",
	},
	TOOLS_IMPORT_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning: "The tools could not be imported.",
		remedy: "The message says why, with Python's traceback where they raised.",
	},
	STARTUP_HOOK_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning: "A start-up hook raised.",
		remedy: "Python's traceback is in the message.",
	},
	ENVIRONMENT_FAILED: {
		thrown: "StartError",
		ran: "no",
		meaning: "A Python environment could not be made.",
		remedy: "The installer's last lines are in the message.",
	},
	REGISTRY_UNWRITABLE: {
		thrown: "RegistryError",
		ran: "no",
		meaning:
			"The ledger's directory cannot be written: it is read-only, or this user has no right to.",
		remedy: "Its rights, or `dataDir`.",
	},
	REGISTRY_FULL: {
		thrown: "RegistryError",
		ran: "no",
		meaning: "The disk of the ledger is full.",
		remedy: "Room on it, or `dataDir`.",
	},
	REGISTRY_OUT_OF_DESCRIPTORS: {
		thrown: "RegistryError",
		ran: "no",
		meaning:
			"The ledger cannot be opened: as many files are open as may be (`EMFILE`, `ENFILE`).",
		remedy: "Raise `ulimit -n`, or close what the program has open.",
	},
	REGISTRY_LOCKED: {
		thrown: "RegistryError",
		ran: "no",
		meaning: "Another program holds this run's ledger file.",
		remedy: "End whatever opened it.",
	},
	REGISTRY_CORRUPT: {
		thrown: "RegistryError",
		ran: "no",
		meaning: "This run's ledger file cannot be read back.",
		remedy: "Start again: a fresh file is made.",
	},
	REGISTRY_UNSUPPORTED: {
		thrown: "RegistryError",
		ran: "no",
		meaning:
			"The native module better-sqlite3 does not load: it is not installed where the program runs, was taken into a bundle, or does not fit the system. Or its SQLite is older than 3.51.3.",
		remedy:
			"What the message says: install it, keep it outside of the bundle, install again on this system, or update it.",
	},
} as const satisfies Entries;
