ALTER TABLE "node_commands" ADD COLUMN "origin" jsonb;
