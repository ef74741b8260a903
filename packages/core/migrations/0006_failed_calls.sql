CREATE TABLE `failed_calls` (
	`id` integer PRIMARY KEY NOT NULL,
	`wall_ms` real NOT NULL,
	`call` text NOT NULL,
	`alike` integer NOT NULL
);
