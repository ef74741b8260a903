import { createHash } from "node:crypto";
import {
	lstatSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "../environment/environments-directory.ts";
import { VERSION } from "../gen/version.ts";
import type { InterpreterFacts } from "./interpreter.ts";
import type { SearchSetting } from "./interpreter-sources.ts";

/** Variables that determine where Python finds its packages, and how it starts. */
const DECIDING = /^(PYTHON|LD_|DYLD_|__PYVENV|VIRTUAL_ENV|CONDA_|HOME$)/;
/** A file that changed so shortly before Python was run may have changed again since, with the same time. */
const SETTLED_MS = 2_000;
const MOST_FILES = 64;
const MOST_BYTES = 256 * 1024;

interface Memory {
	readonly facts: InterpreterFacts;
	/** The dependencies of the facts: identity and last change of each file and directory. */
	readonly seen: Readonly<Record<string, string>>;
}

/** The reports of interpreters to earlier programs of this user, valid while none of their dependencies has changed. */
export class RememberedFacts {
	readonly #directory: string;

	/** @param directory private to this user. */
	constructor(directory: string) {
		this.#directory = directory;
	}

	/** The report of this interpreter; `undefined` if it must be run. */
	read(program: string, setting: SearchSetting): InterpreterFacts | undefined {
		try {
			const path = this.#path(program, setting);
			const file = lstatSync(path);
			const isOurs = file.isFile() && file.uid === userInfo().uid;
			if (!isOurs || (file.mode & 0o077) !== 0 || file.size > MOST_BYTES)
				return undefined;
			const { facts, seen } = JSON.parse(readFileSync(path, "utf8")) as Memory;
			const isSame = Object.entries(seen).every(
				([place, stamp]) => stampOf(place) === stamp,
			);
			return isSame ? facts : undefined;
		} catch {
			return undefined;
		}
	}

	/**
	 * Remembers a report.
	 *
	 * @param askedMs when the interpreter was run, since the epoch.
	 */
	write(
		program: string,
		setting: SearchSetting,
		facts: InterpreterFacts,
		askedMs: number,
	): void {
		// A program without this list did not answer our question.
		if (facts.watched.length === 0) return;
		const places = [program, ...facts.watched];
		if (places.some((place) => changedMs(place) > askedMs - SETTLED_MS)) return;
		const seen = Object.fromEntries(
			places.map((place) => [place, stampOf(place)]),
		);
		// Only needed for wrappers, which are not remembered.
		const memory: Memory = { facts: { ...facts, environment: {} }, seen };
		const path = this.#path(program, setting);
		const part = `${path}.${process.pid}`;
		try {
			if (readdirSync(this.#directory).length >= MOST_FILES)
				for (const name of readdirSync(this.#directory))
					rmSync(join(this.#directory, name), { force: true });
			writeFileSync(part, JSON.stringify(memory), { mode: 0o600, flag: "wx" });
			renameSync(part, path);
		} catch {
			// It is run again next time.
		}
	}

	#path(program: string, { env, cwd }: SearchSetting): string {
		const deciding = Object.entries(env)
			.filter(([name]) => DECIDING.test(name))
			.sort(([one], [other]) => (one < other ? -1 : 1));
		const key = createHash("sha256")
			.update(JSON.stringify([VERSION, program, cwd, deciding]))
			.digest("hex");
		return join(this.#directory, `${key}.json`);
	}
}

/** Changes with content, rights and identity; of a directory, with what it lists. */
function stampOf(place: string): string {
	try {
		const { dev, ino, ctimeNs, size } = statSync(place, { bigint: true });
		return [dev, ino, ctimeNs, size].join(":");
	} catch (error) {
		return String((error as NodeJS.ErrnoException).code);
	}
}

/** When it changed; a file that cannot be inspected may change at any time. */
function changedMs(place: string): number {
	try {
		return statSync(place, { throwIfNoEntry: false })?.ctimeMs ?? 0;
	} catch {
		return Number.POSITIVE_INFINITY;
	}
}

/** Nothing if this user has no private cache: then Python is run each time. */
export function rememberedFacts(): RememberedFacts | undefined {
	try {
		return new RememberedFacts(cacheDirectory("interpreters", process.env));
	} catch {
		return undefined;
	}
}
