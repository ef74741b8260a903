import {
	type Case,
	type Figures,
	higher,
	lower,
	type Row,
	type Setting,
} from "../case.ts";
import { bareGrpc } from "../contestants/bare-grpc.ts";
import {
	type Contestant,
	type Line,
	rowOf,
} from "../contestants/contestant.ts";
import {
	framedSocket,
	memcpy,
	sharedMemoryFile,
} from "../contestants/limits.ts";
import { ours } from "../contestants/ours.ts";
import { peers } from "../contestants/peers.ts";
import {
	callRepeatedly,
	collectGarbage,
	cpuSeconds,
	forgetPeak,
	peakBytes,
	residentBytes,
} from "../measure.ts";

const MB = 1_000_000;
const SIZES_MB = [1, 10, 100];
/** Their text of base64 takes minutes beyond it. */
const MOST_MB_AS_TEXT = 10;
/** The others carry no bytes to Python and back. */
const CARRY_BYTES = ["python-shell", "tinypool", "piscina"];

export const values: Case = {
	name: "values",
	title: "Large values",
	about:
		"Bytes of 1, 10 and 100 MB: there and back (payload counted once), there only, back only, and there and back as a numpy array; peak memory in multiples of the value.",
	figures: {
		echo_mb_s: higher("there and back", "MB/s"),
		take_mb_s: higher("there", "MB/s"),
		give_mb_s: higher("back", "MB/s"),
		array_mb_s: higher("numpy array", "MB/s"),
		cpu_s_gb: lower("CPU", "s/GB"),
		host_copies: lower("peak, host", "copies"),
		worker_copies: lower("peak, worker", "copies"),
	},
	rows: SIZES_MB.flatMap((size) =>
		[
			memcpy,
			sharedMemoryFile,
			framedSocket,
			bareGrpc(),
			...ours(),
			...peers.filter(
				({ needs }) =>
					CARRY_BYTES.includes(needs?.peer ?? "") &&
					(needs?.peer !== "python-shell" || size <= MOST_MB_AS_TEXT),
			),
		].map((contestant) => rowFor(contestant, size)),
	),
};

function rowFor(contestant: Contestant, sizeMb: number): Row {
	const amount = { workers: 1, inFlight: 1 };
	const row = rowOf(contestant, amount, (line, setting) =>
		measure(line, sizeMb, setting),
	);
	return { ...row, name: `${contestant.name}, ${sizeMb} MB` };
}

async function measure(
	line: Line,
	sizeMb: number,
	{ pace }: Setting,
): Promise<Figures> {
	if (sizeMb > pace.largestMb)
		throw new Error(`left out: larger than ${pace.largestMb} MB`);
	const { echoArray, echoBytes, giveBytes, takeBytes } = line;
	if (echoBytes === undefined) throw new TypeError("it echoes no bytes");
	const bytes = randomBytes(sizeMb * MB);
	const figures: Record<string, number> = {};
	const rate = async (call: () => Promise<unknown>): Promise<number> =>
		(await callRepeatedly(call, pace.measureMs)).perSecond * sizeMb;

	// First of all: what an earlier call let go of may be used again unseen.
	if (process.platform === "linux")
		Object.assign(figures, await peaks(line, () => echoBytes(bytes), bytes));
	const echoed = await echoBytes(bytes);
	if (Buffer.compare(echoed, bytes) !== 0)
		throw new Error("the echo is not what was sent");
	const pids = [process.pid, ...line.pids];
	const before = process.platform === "linux" ? cpuSeconds(pids) : Number.NaN;
	const echoes = await callRepeatedly(() => echoBytes(bytes), pace.measureMs);
	figures["echo_mb_s"] = echoes.perSecond * sizeMb;
	if (process.platform === "linux")
		figures["cpu_s_gb"] =
			((cpuSeconds(pids) - before) / (echoes.calls * sizeMb)) * 1000;
	if (takeBytes !== undefined)
		figures["take_mb_s"] = await rate(() => takeBytes(bytes));
	if (giveBytes !== undefined)
		figures["give_mb_s"] = await rate(() => giveBytes(bytes.length));
	if (echoArray !== undefined) {
		const array = new Float64Array(bytes.length / 8).fill(0.5);
		figures["array_mb_s"] = await rate(() => echoArray(array));
	}
	return figures;
}

async function peaks(
	{ pids }: Line,
	call: () => Promise<unknown>,
	bytes: Uint8Array,
): Promise<Figures> {
	collectGarbage();
	const [worker] = pids;
	const grown = (pid: number): (() => number) => {
		forgetPeak(pid);
		const before = residentBytes(pid);
		return () => (peakBytes(pid) - before) / bytes.length;
	};
	const host = grown(process.pid);
	const other = worker === undefined ? undefined : grown(worker);
	await call();
	return {
		host_copies: host(),
		...(other === undefined ? {} : { worker_copies: other() }),
	};
}

/** Bytes that nothing can compress or share. */
function randomBytes(size: number): Buffer {
	const bytes = Buffer.allocUnsafeSlow(size);
	let state = 1;
	for (let at = 0; at + 4 <= size; at += 4) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
		bytes.writeInt32LE(state, at);
	}
	return bytes;
}
