import type { Callers } from "./callers.ts";
import type { Chance } from "./chance.ts";
import type { KnownSession } from "./made-call.ts";
import type { Sources } from "./sources.ts";

/** What one caller does, and how often beside the others. */
export type Kind = readonly [weight: number, make: () => Promise<void>];

const FAILS = { mayFail: ["TOOL_FAILED"] } as const;
const NO_IMAGE = { mayFail: ["VALUE_NOT_TRANSFERABLE"] } as const;
const INVALID = { mayFail: ["INVALID_ARGUMENTS"] } as const;

const same = (value: unknown, tag: string): boolean => value === tag;
const never = (): boolean => false;
const index = (at: number): number => at;
const inOrder = (value: unknown, length: number): boolean =>
	Array.isArray(value) &&
	value.length === length &&
	value.every((each, at) => each === at);

/** Calls with one answer. */
export function answers({ answer }: Bound, chance: Chance): readonly Kind[] {
	const seconds = (most: number) => ({ seconds: chance.fraction() * most });
	const simple = (
		weight: number,
		tool: string,
		args: () => Readonly<Record<string, unknown>>,
	): Kind => [weight, () => answer(tool, args(), same)];
	return [
		simple(6, "answer", () => ({})),
		simple(4, "sleep", () => seconds(0.3)),
		simple(2, "spin", () => seconds(0.2)),
		simple(4, "sleep_async", () => seconds(0.3)),
		simple(1, "cling", () => ({ seconds: chance.pick([0.1, 0.5, 3]) })),
		simple(1, "block_the_loop", () => seconds(0.3)),
		simple(1, "clean_up", () => seconds(0.3)),
		simple(1, "clean_up_async", () => seconds(0.3)),
		simple(1, "spawn", () => ({})),
		simple(1, "fork", () => ({})),
		simple(0.5, "print_elsewhere", () => ({})),
		simple(1, "print_much", () => ({ lines: 200 })),
		simple(1, "log_much", () => ({ records: 300 })),
		simple(1, "grow", () => ({ megabytes: 10 })),
		simple(0.3, "interrupt", () => ({})),
		simple(0.3, "leave_a_thread", () => ({ seconds: 1 })),
		[2, () => answer("fail", {}, never, FAILS)],
		[1, () => answer("fail_async", {}, never, FAILS)],
		[1, () => answer("leave", { code: 3 }, never, FAILS)],
		[1, () => answer("leave_async", { code: 3 }, never, FAILS)],
		[1, () => answer("die", { number: chance.pick([6, 9, 11, 15]) }, never)],
		[0.5, () => answer("vanish", { code: chance.pick([0, 3]) }, never)],
		[0.5, () => answer("no_value", {}, never, NO_IMAGE)],
		[0.5, () => answer("sleep", { seconds: "long" }, never, INVALID)],
	];
}

/** Calls that stream, in or out. */
export function streams(
	{ answer, read }: Bound,
	chance: Chance,
	sources: Sources,
): readonly Kind[] {
	const end = () => (chance.of(0.2) ? "fails" : "ends") as "fails" | "ends";
	return [
		[5, () => count()],
		[2, () => countAndFail("count_and_fail", FAILS)],
		[0.5, () => countAndFail("count_and_no_value", NO_IMAGE)],
		[4, () => collect()],
		[5, () => relay()],
		[1, () => collectStrange([0, 1, Symbol("no image")], NO_IMAGE)],
		[1, () => collectStrange([0, 1, "two"], INVALID)],
		[1, () => collectSilent()],
	];

	async function count(): Promise<void> {
		const items = chance.pick([0, 1, 5, 40, 600]);
		const pause = items < 50 ? chance.pick([0, 0, 0.005]) : 0;
		const tool = chance.pick(["count", "count_async"]);
		await read(tool, { items, pause }, items, index);
	}

	async function countAndFail(
		tool: string,
		particular: { readonly mayFail: readonly string[] },
	): Promise<void> {
		const items = chance.pick([0, 3, 50]);
		await read(tool, { items }, items + 1, index, particular);
	}

	async function collect(): Promise<void> {
		const items = chance.pick([0, 1, 7, 16, 17, 60]);
		const most = chance.of(0.2) ? 1 + chance.below(10) : 1_000;
		const ending = end();
		await answer(
			chance.pick(["collect", "collect_async"]),
			{ most, pause: chance.pick([0, 0, 0.003]) },
			(value) =>
				inOrder(value, Math.min(most, items)) &&
				(ending === "ends" || most <= items),
			{
				input: sources.numbers(items, chance.pick([0, 0, 2]), ending),
				mayFail: ending === "fails" ? FAILS.mayFail : [],
			},
		);
	}

	async function relay(): Promise<void> {
		const items = chance.pick([0, 1, 7, 17, 60, 200]);
		const ending = end();
		const few = items < 50;
		const input = sources.numbers(
			items,
			few ? chance.pick([0, 0, 3]) : 0,
			ending,
		);
		const mayFail = ending === "fails" ? FAILS.mayFail : [];
		// One that fails has no end that the consumer could count to.
		const wanted = ending === "fails" ? items + 1 : items;
		const tool = chance.pick(["relay", "relay_async", "ask_and_relay"]);
		const pause = few ? chance.pick([0, 0, 0.003]) : 0;
		await read(tool, { pause }, wanted, index, { input, mayFail });
	}

	async function collectStrange(
		input: readonly unknown[],
		{ mayFail }: { readonly mayFail: readonly string[] },
	): Promise<void> {
		const args = { most: 1_000, pause: 0 };
		await answer("collect", args, never, { input, mayFail });
	}

	async function collectSilent(): Promise<void> {
		await answer("collect", { most: 1_000, pause: 0 }, never, {
			input: sources.silent(),
			hangs: "yes",
		});
	}
}

/** Calls whose tools ask the host. */
export function backCalls(
	{ answer, read }: Bound,
	chance: Chance,
): readonly Kind[] {
	const ask = (): string => chance.pick(["ask", "ask_async"]);
	const about = (name: string, argument: unknown) => ({
		...{ function: name, argument },
	});
	return [
		[3, () => answer(ask(), about("echo", 7), (value) => value === 7)],
		[2, () => answer(ask(), about("later", 40), (value) => value === 40)],
		[0.5, () => answer(ask(), about("throws", 1), never, FAILS)],
		[0.5, () => answer(ask(), about("odd", 1), never, FAILS)],
		[0.5, () => answer(ask(), about("unknown", 1), never, FAILS)],
		[2, () => answer(ask(), about("hangs", 1), never, { hangs: "yes" })],
		[2, () => answer(ask(), about("again", 5), (value) => value === 5, FAILS)],
		[1, () => answer("ask_many", { times: 20 }, (all) => inOrder(all, 20))],
		[1, () => read("ask_and_count", { items: 10 }, 10, index)],
		[0.5, () => answer("ask_in_clean_up", { seconds: 0.2 }, same)],
	];
}

/** Calls that find each other's state. */
export function sessionCalls(
	{ answer, read }: Bound,
	chance: Chance,
	session: () => KnownSession | undefined,
): readonly Kind[] {
	const args = () => ({ seconds: chance.pick([0, 0, 0.05]) });
	const within = async (
		make: (session: KnownSession) => Promise<void>,
	): Promise<void> => {
		const open = session();
		if (open !== undefined) await make(open);
	};
	const remember = (tool: string): Kind => [
		4,
		() =>
			within((open) => answer(tool, args(), Array.isArray, { session: open })),
	];
	return [
		remember("remember"),
		remember("remember_async"),
		[
			2,
			() =>
				within((open) =>
					read("remember_stream", { items: 4 }, 4, (_, tag) => tag, {
						session: open,
					}),
				),
		],
	];
}

/** The callers' methods, bound to them. */
export type Bound = Pick<Callers, "answer" | "read">;
