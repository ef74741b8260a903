ALTER TABLE `runs` ADD `program` text;--> statement-breakpoint
ALTER TABLE `workers` ADD `lifeline` text;--> statement-breakpoint
ALTER TABLE `workers` ADD `tail` text;--> statement-breakpoint
ALTER TABLE `workers` ADD `last_command` text;