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
	EventRecorder,
	unpaired,
} from "./testing/event-recorder.ts";
export {
	type FakeForkOptions,
	FakeOutput,
	FakeProcess,
	type FakeProgram,
	streamPair,
} from "./testing/fake-process.ts";
export {
	FakeMachine,
	type FakeMachineOptions,
	FakeProcessHost,
	type FakeProcessHostOptions,
	type FakeSpawn,
} from "./testing/fake-process-host.ts";
export {
	MemoryRegistry,
	type MemoryRegistryOptions,
} from "./testing/memory-registry.ts";
export type {
	ScriptedCall,
	ScriptedCommand,
	ScriptedCommands,
} from "./testing/scripted-adapter.ts";
export {
	connectFails,
	type FakeLaunchMessage,
	neverAnswers,
	neverConnects,
	readLaunchMessage,
	type ScriptedAdapter,
	type ScriptedAdapterOptions,
	type Scripts,
	scriptedAdapter,
	scripts,
	startAsWorker,
	staysPut,
	writeFailed,
	writeReady,
} from "./testing/scripted-adapter.ts";
export { ScriptedWorker } from "./testing/scripted-worker.ts";
export {
	type RealStartOptions,
	type StartWorkerOptions,
	startForReal,
	startWorker,
} from "./testing/start-for-real.ts";
export {
	VirtualClock,
	type VirtualClockOptions,
} from "./testing/virtual-clock.ts";
export {
	closedVirtualPool,
	SeededRandom,
	type VirtualPool,
	type VirtualWorld,
	type VirtualWorldOptions,
	virtualPool,
	virtualWorld,
} from "./testing/virtual-pool.ts";
