/** What is hit: on the machine of the host, and on another node. */
export type Party =
	| "host"
	| "gateway"
	| "stand-in"
	| "actor"
	| "keeper"
	| "relay"
	| "worker"
	| "raylet"
	| "control store";

/** What a round does to a Ray cluster, and what must end because of it. At the end, the host is killed, and everything must be gone. */
export type ClusterScene =
	| {
			readonly fault: "killed";
			/** One after the other, in one go. */
			readonly parties: readonly Party[];
			/** What ends before the host is killed: all workers, that of the party, or none. */
			readonly ends: "all workers" | "one worker" | "nothing";
			/** Whether the pool has all of its workers again afterwards. */
			readonly heals: boolean;
	  }
	| {
			readonly fault: "stopped";
			readonly party: Party;
			/** Whether calls continue meanwhile. */
			readonly serves: boolean;
	  }
	| {
			readonly fault: "cut off";
			/** No packet passes to or from the node of a worker; or also none to or from the control store, from anywhere. */
			readonly from:
				| "the other nodes"
				| "the other nodes and the control store";
			readonly heals: boolean;
	  };
