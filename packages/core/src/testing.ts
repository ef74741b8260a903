// What tests of users need: a pool without processes, the contract of adapters, a recorder of events.

export {
	type AdapterHarness,
	adapterContract,
	type ContractCaller,
	type ContractCommand,
	type ContractCommands,
	type ContractWorker,
} from "./testing/adapter-contract.ts";
export type { ContractCase } from "./testing/contract-case.ts";
export { EventRecorder } from "./testing/event-recorder.ts";
export {
	type ScriptedAdapterOptions,
	type ScriptedCall,
	type ScriptedCommand,
	type ScriptedCommands,
	type Scripts,
	scripts,
} from "./testing/scripted-adapter.ts";
export {
	type RealStartOptions,
	startForReal,
} from "./testing/start-for-real.ts";
export { type VirtualPool, virtualPool } from "./testing/virtual-pool.ts";
