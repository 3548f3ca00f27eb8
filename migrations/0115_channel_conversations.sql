ALTER TABLE "channels" ADD COLUMN "conversations" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE TABLE "chat_visitor_channels" (
	"visitor_id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"reply_to" text NOT NULL,
	"automatic_replies" integer DEFAULT 0 NOT NULL,
	"counted_from" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "chat_visitor_channels" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "chat_visitor_channels" ADD CONSTRAINT "chat_visitor_channels_visitor_id_chat_visitors_id_fk" FOREIGN KEY ("visitor_id") REFERENCES "public"."chat_visitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "chat_visitor_channels" ADD CONSTRAINT "chat_visitor_channels_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "chat_visitor_channels_tenant" ON "chat_visitor_channels" USING btree ("tenant_id");--> statement-breakpoint
CREATE POLICY "workspace" ON "chat_visitor_channels" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "chat_visitor_channels" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);
