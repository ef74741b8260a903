import type { PoolOptions, SnakepitError } from "@snakepit/core";
import {
	type ScriptedAdapterOptions,
	type VirtualPool,
	virtualPool,
} from "@snakepit/core/testing";
import { type TelemetryOptions, telemetry } from "../../src/index.ts";

type Commands = NonNullable<ScriptedAdapterOptions["commands"]>;

/** Pools in memory that telemetry follows, with commands of the test's own. */
export class FollowedPools {
	#open: VirtualPool | undefined;

	async open(
		commands: Commands,
		options?: TelemetryOptions,
		ofPool?: Pick<PoolOptions, "observe">,
	): Promise<VirtualPool> {
		this.#open = await virtualPool(
			{ commands },
			{ ...ofPool, instruments: [telemetry(options)] },
		);
		return this.#open;
	}

	/** For the end of a test, before its SDK goes. */
	async close(): Promise<void> {
		await this.#open?.close();
		this.#open = undefined;
	}
}

/** What a call failed with. */
export function errorOf(promise: Promise<unknown>): Promise<SnakepitError> {
	return promise.then(
		() => Promise.reject(new Error("it did not fail")),
		(error) => error,
	);
}
