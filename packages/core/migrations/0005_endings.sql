CREATE TABLE `acts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`wall_ms` real NOT NULL,
	`event` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `runs` ADD `program_end` text;--> statement-breakpoint
ALTER TABLE `workers` ADD `start_error` text;--> statement-breakpoint
ALTER TABLE `workers` ADD `end_detail` text;