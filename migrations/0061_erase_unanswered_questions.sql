ALTER TABLE "knowledge_unanswered" ADD COLUMN "conversation_id" uuid;--> statement-breakpoint
ALTER TABLE "knowledge_unanswered" ADD CONSTRAINT "knowledge_unanswered_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "knowledge_unanswered_conversation" ON "knowledge_unanswered" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "knowledge_unanswered_expiry" ON "knowledge_unanswered" USING btree ("last_asked_at");