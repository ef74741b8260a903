CREATE TABLE `incidents` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`wall_ms` real NOT NULL,
	`event` text NOT NULL,
	`reported` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `runs` ADD `cleanup_ms` real;