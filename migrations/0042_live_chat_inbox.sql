CREATE TABLE "chat_agents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"presence" text DEFAULT 'online' NOT NULL,
	"seen_at" timestamp (3) with time zone,
	"assigned_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "chat_agents_user" UNIQUE("tenant_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "chat_agents" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_canned_replies" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"shortcut" text NOT NULL,
	"content" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "chat_canned_replies_shortcut" UNIQUE("tenant_id","shortcut")
);
--> statement-breakpoint
ALTER TABLE "chat_canned_replies" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_drafts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"content" text NOT NULL,
	"private" boolean NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "chat_drafts_user" UNIQUE("conversation_id","user_id")
);
--> statement-breakpoint
ALTER TABLE "chat_drafts" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_files" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"message_id" uuid,
	"sent_by" text NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"name" text NOT NULL,
	"content_type" text NOT NULL,
	"bytes" integer NOT NULL,
	"blob_key" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_files" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_ratings" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"closing" integer NOT NULL,
	"score" integer NOT NULL,
	"comment" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "chat_ratings_closing" UNIQUE("conversation_id","closing")
);
--> statement-breakpoint
ALTER TABLE "chat_ratings" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"visitor_id" uuid NOT NULL,
	"token_hash" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "chat_sessions_token" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "chat_sessions" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "visitor_read_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "agent_read_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "last_reply_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "snoozed_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "assigned_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "closed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "closings" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD COLUMN "words" "tsvector";--> statement-breakpoint
ALTER TABLE "chat_visitors" ADD COLUMN "last_address" text;--> statement-breakpoint
ALTER TABLE "chat_visitors" ADD COLUMN "blocked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_widgets" ADD COLUMN "settings" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_widgets" ADD COLUMN "settings_changed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_agents" ADD CONSTRAINT "chat_agents_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_canned_replies" ADD CONSTRAINT "chat_canned_replies_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_drafts" ADD CONSTRAINT "chat_drafts_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_drafts" ADD CONSTRAINT "chat_drafts_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_files" ADD CONSTRAINT "chat_files_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_files" ADD CONSTRAINT "chat_files_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_files" ADD CONSTRAINT "chat_files_message_id_chat_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "public"."chat_messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ratings" ADD CONSTRAINT "chat_ratings_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ratings" ADD CONSTRAINT "chat_ratings_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_sessions" ADD CONSTRAINT "chat_sessions_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_sessions" ADD CONSTRAINT "chat_sessions_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_sessions" ADD CONSTRAINT "chat_sessions_visitor_id_chat_visitors_id_fk" FOREIGN KEY ("visitor_id") REFERENCES "public"."chat_visitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_agents_seen" ON "chat_agents" USING btree ("seen_at");--> statement-breakpoint
CREATE INDEX "chat_canned_replies_tenant" ON "chat_canned_replies" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "chat_drafts_tenant" ON "chat_drafts" USING btree ("tenant_id","user_id");--> statement-breakpoint
CREATE INDEX "chat_files_message" ON "chat_files" USING btree ("message_id","position");--> statement-breakpoint
CREATE INDEX "chat_files_conversation" ON "chat_files" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "chat_files_loose" ON "chat_files" USING btree ("created_at") WHERE "chat_files"."message_id" IS NULL;--> statement-breakpoint
CREATE INDEX "chat_files_tenant" ON "chat_files" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "chat_ratings_tenant" ON "chat_ratings" USING btree ("tenant_id","id");--> statement-breakpoint
CREATE INDEX "chat_sessions_expiry" ON "chat_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "chat_sessions_conversation" ON "chat_sessions" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "chat_sessions_visitor" ON "chat_sessions" USING btree ("visitor_id");--> statement-breakpoint
CREATE INDEX "chat_conversations_changed" ON "chat_conversations" USING btree ("tenant_id","updated_at");--> statement-breakpoint
CREATE INDEX "chat_conversations_assigned" ON "chat_conversations" USING btree ("tenant_id","assigned_user_id","moved_at","id") WHERE "chat_conversations"."status" IN ('open', 'pending');--> statement-breakpoint
CREATE INDEX "chat_conversations_unassigned" ON "chat_conversations" USING btree ("tenant_id","moved_at","id") WHERE "chat_conversations"."status" IN ('open', 'pending') AND "chat_conversations"."assigned_user_id" IS NULL;--> statement-breakpoint
CREATE INDEX "chat_conversations_unread" ON "chat_conversations" USING btree ("tenant_id","moved_at","id") WHERE "chat_conversations"."unread_count" > 0;--> statement-breakpoint
CREATE INDEX "chat_conversations_snoozed" ON "chat_conversations" USING btree ("snoozed_until") WHERE "chat_conversations"."snoozed_until" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "chat_conversations_closed" ON "chat_conversations" USING btree ("tenant_id","moved_at") WHERE "chat_conversations"."status" = 'closed';--> statement-breakpoint
CREATE INDEX "chat_messages_words" ON "chat_messages" USING gin ("words");--> statement-breakpoint
CREATE INDEX "chat_visitors_blocked" ON "chat_visitors" USING btree ("tenant_id","id") WHERE "chat_visitors"."blocked_at" IS NOT NULL;--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_agents" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_agents" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_canned_replies" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_canned_replies" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_drafts" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_drafts" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_files" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_files" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_ratings" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_ratings" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_sessions" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_sessions" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);