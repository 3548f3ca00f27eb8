CREATE INDEX CONCURRENTLY "node_commands_history" ON "node_commands" USING btree ("node_id","id");--> statement-breakpoint
DROP INDEX "node_commands_node";