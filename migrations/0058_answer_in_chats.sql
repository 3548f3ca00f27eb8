CREATE TABLE "chat_ai_days" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"day" date NOT NULL,
	"replies" integer DEFAULT 0 NOT NULL,
	"suggestions" integer DEFAULT 0 NOT NULL,
	"hand_overs" integer DEFAULT 0 NOT NULL,
	"input_tokens" bigint DEFAULT 0 NOT NULL,
	"output_tokens" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "chat_ai_days_day" UNIQUE("tenant_id","day")
);
--> statement-breakpoint
ALTER TABLE "chat_ai_days" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_ai_turns" (
	"conversation_id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"lease" integer DEFAULT 0 NOT NULL,
	"leased_until" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_ai_turns" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "chat_ai_suggestions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"content" text NOT NULL,
	"action" text NOT NULL,
	"reason" text NOT NULL,
	"sources" jsonb NOT NULL,
	"seq" integer NOT NULL,
	"origin" text NOT NULL,
	"accepted_at" timestamp (3) with time zone,
	"accepted_by" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_ai_suggestions" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "context_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_conversations" ADD COLUMN "ai_replies" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_messages" ADD COLUMN "sources" jsonb;--> statement-breakpoint
ALTER TABLE "chat_widgets" ADD COLUMN "ai_settings" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "chat_widgets" ADD COLUMN "ai_settings_changed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "chat_ai_days" ADD CONSTRAINT "chat_ai_days_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ai_turns" ADD CONSTRAINT "chat_ai_turns_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ai_turns" ADD CONSTRAINT "chat_ai_turns_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ai_suggestions" ADD CONSTRAINT "chat_ai_suggestions_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_ai_suggestions" ADD CONSTRAINT "chat_ai_suggestions_conversation_id_chat_conversations_id_fk" FOREIGN KEY ("conversation_id") REFERENCES "public"."chat_conversations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_ai_turns_due" ON "chat_ai_turns" USING btree ("tenant_id","due_at");--> statement-breakpoint
CREATE INDEX "chat_ai_suggestions_conversation" ON "chat_ai_suggestions" USING btree ("conversation_id","id");--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_ai_days" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_ai_days" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_ai_turns" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_ai_turns" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_ai_suggestions" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_ai_suggestions" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);