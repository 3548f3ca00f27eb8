ALTER TABLE "chat_messages" ADD COLUMN "tools" jsonb;--> statement-breakpoint
ALTER TABLE "chat_ai_suggestions" ADD COLUMN "tools" jsonb;