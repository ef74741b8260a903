export {
	type AdapterHarness,
	adapterContract,
	type ContractCaller,
	type ContractCommand,
	type ContractCommands,
	type ContractWorker,
} from "./testing/adapter-contract.ts";
export type { ContractCase } from "./testing/contract-case.ts";
export {
	EVENT_PAIRS,
	type EventPair,
	unpaired,
} from "./testing/event-pairs.ts";
export { EventRecorder } from "./testing/event-recorder.ts";
export {
	type FakeLaunchMessage,
	readLaunchMessage,
	startAsWorker,
	writeFailed,
	writeReady,
} from "./testing/fake-control-channel.ts";
export {
	FakeMachine,
	type FakeMachineOptions,
	type FakeSpawn,
} from "./testing/fake-machine.ts";
export { FakeOutput } from "./testing/fake-output.ts";
export {
	type FakeForkOptions,
	FakeProcess,
	type FakeProgram,
} from "./testing/fake-process.ts";
export {
	FakeProcessHost,
	type FakeProcessHostOptions,
} from "./testing/fake-process-host.ts";
export {
	MemoryRegistry,
	type MemoryRegistryOptions,
} from "./testing/memory-registry.ts";
export {
	type ScriptedAdapter,
	type ScriptedAdapterOptions,
	scriptedAdapter,
} from "./testing/scripted-adapter.ts";
export {
	connectFails,
	neverAnswers,
	neverConnects,
	type Scripts,
	scripts,
	staysPut,
} from "./testing/scripted-commands.ts";
export type {
	ScriptedCall,
	ScriptedCommand,
	ScriptedCommands,
} from "./testing/scripted-connection.ts";
export { ScriptedWorker } from "./testing/scripted-worker.ts";
export { SeededRandom } from "./testing/seeded-random.ts";
export {
	type RealStartOptions,
	startForReal,
} from "./testing/start-for-real.ts";
export {
	type StartWorkerOptions,
	startWorker,
} from "./testing/start-worker.ts";
export { streamPair } from "./testing/stream-pair.ts";
export {
	VirtualClock,
	type VirtualClockOptions,
} from "./testing/virtual-clock.ts";
export {
	closedVirtualPool,
	type VirtualPool,
	virtualPool,
} from "./testing/virtual-pool.ts";
export {
	type VirtualWorld,
	type VirtualWorldOptions,
	virtualWorld,
} from "./testing/virtual-world.ts";
