CREATE TABLE `runs` (
	`run_id` text PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`machine_id` text NOT NULL,
	`boot_id` text NOT NULL,
	`pid_namespace` text NOT NULL,
	`pid` integer NOT NULL,
	`start_time` text NOT NULL,
	`directory` text NOT NULL,
	`started_at` real NOT NULL,
	`ended_at` real,
	`clean` integer,
	`ended_by` text,
	`claimed_by` text,
	`killed` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `workers` (
	`incarnation` text PRIMARY KEY NOT NULL,
	`ordinal` integer NOT NULL,
	`run_id` text NOT NULL,
	`worker_id` text NOT NULL,
	`pool` text NOT NULL,
	`status` text NOT NULL,
	`identity` text,
	`group_id` integer,
	`marker` text NOT NULL,
	`fingerprint` text NOT NULL,
	`files` text NOT NULL,
	`reserved_at` real NOT NULL,
	`activated_at` real,
	`ended_at` real,
	`exit_code` integer,
	`exit_signal` text,
	`end_reason` text,
	`killer` text
);
