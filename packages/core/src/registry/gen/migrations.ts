// Made from packages/core/migrations by `npx pnpm@12 generate`.

/** One step from an older ledger to a newer, as Drizzle's migrator takes it. */
export interface Migration {
	readonly sql: string[];
	readonly bps: boolean;
	readonly folderMillis: number;
	readonly hash: string;
}

/** Every step, oldest first. */
export const MIGRATIONS: readonly Migration[] = [
	{
		"sql": [
			"CREATE TABLE `runs` (\n\t`run_id` text PRIMARY KEY NOT NULL,\n\t`state` text NOT NULL,\n\t`machine_id` text NOT NULL,\n\t`boot_id` text NOT NULL,\n\t`pid_namespace` text NOT NULL,\n\t`pid` integer NOT NULL,\n\t`start_time` text NOT NULL,\n\t`directory` text NOT NULL,\n\t`started_at` real NOT NULL,\n\t`ended_at` real,\n\t`clean` integer,\n\t`ended_by` text,\n\t`claimed_by` text,\n\t`killed` integer NOT NULL\n);\n",
			"\nCREATE TABLE `workers` (\n\t`incarnation` text PRIMARY KEY NOT NULL,\n\t`ordinal` integer NOT NULL,\n\t`run_id` text NOT NULL,\n\t`worker_id` text NOT NULL,\n\t`pool` text NOT NULL,\n\t`status` text NOT NULL,\n\t`identity` text,\n\t`group_id` integer,\n\t`marker` text NOT NULL,\n\t`fingerprint` text NOT NULL,\n\t`files` text NOT NULL,\n\t`reserved_at` real NOT NULL,\n\t`activated_at` real,\n\t`ended_at` real,\n\t`exit_code` integer,\n\t`exit_signal` text,\n\t`end_reason` text,\n\t`killer` text\n);\n"
		],
		"bps": true,
		"folderMillis": 1795247954949,
		"hash": "888072f35d296a7cfc7b70ae19cdaa0167520f5c74ce62a724fb83c5121ecbd1"
	},
	{
		"sql": [
			"CREATE TABLE `incidents` (\n\t`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`wall_ms` real NOT NULL,\n\t`event` text NOT NULL,\n\t`reported` integer NOT NULL\n);\n",
			"\nALTER TABLE `runs` ADD `cleanup_ms` real;"
		],
		"bps": true,
		"folderMillis": 1795277746149,
		"hash": "58e2c198328e29a33d645c257e3e9f7e267b68b787d6d33e759465f6c93fec0a"
	},
	{
		"sql": [
			"ALTER TABLE `runs` ADD `program` text;",
			"\nALTER TABLE `workers` ADD `lifeline` text;",
			"\nALTER TABLE `workers` ADD `tail` text;",
			"\nALTER TABLE `workers` ADD `last_command` text;"
		],
		"bps": true,
		"folderMillis": 1795452836262,
		"hash": "e41e8e4ec85b148d4a657aa086022cde211310597cb91a0e65239ca0da0f2b85"
	},
	{
		"sql": [
			"ALTER TABLE `workers` ADD `place` text;"
		],
		"bps": true,
		"folderMillis": 1795493331547,
		"hash": "dc49a6fad75d5ec4e7f6ca54ae1615959d2d204a78c2a32c7df2e0b903ae17bc"
	},
	{
		"sql": [
			"ALTER TABLE `workers` RENAME COLUMN \"place\" TO \"location\";"
		],
		"bps": true,
		"folderMillis": 1795901305986,
		"hash": "253db31094a78a1011abd13bf066ea4190d56b73315a9d080a598cf12abdc9e1"
	},
	{
		"sql": [
			"CREATE TABLE `acts` (\n\t`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,\n\t`wall_ms` real NOT NULL,\n\t`event` text NOT NULL\n);\n",
			"\nALTER TABLE `runs` ADD `program_end` text;",
			"\nALTER TABLE `workers` ADD `start_error` text;",
			"\nALTER TABLE `workers` ADD `end_detail` text;"
		],
		"bps": true,
		"folderMillis": 1795904469429,
		"hash": "69e57dbfafb8e71392caf9c5b0e64fae2feb1a49c5d7893470704eb10cae28a2"
	},
	{
		"sql": [
			"CREATE TABLE `failed_calls` (\n\t`id` integer PRIMARY KEY NOT NULL,\n\t`wall_ms` real NOT NULL,\n\t`call` text NOT NULL,\n\t`alike` integer NOT NULL\n);\n"
		],
		"bps": true,
		"folderMillis": 1795904766077,
		"hash": "f1a7040b64aec2ebba0880a4d23388ed8097b8a16050239f574567d7afaa285e"
	}
];
