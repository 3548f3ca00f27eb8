CREATE TABLE "member_pictures" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"tenant_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"content_type" text NOT NULL,
	"bytes" integer NOT NULL,
	"blob_key" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "member_pictures_id" UNIQUE("id")
);
--> statement-breakpoint
ALTER TABLE "member_pictures" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "member_pictures" ADD CONSTRAINT "member_pictures_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "member_pictures" ADD CONSTRAINT "member_pictures_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "member_pictures_tenant" ON "member_pictures" USING btree ("tenant_id");--> statement-breakpoint
CREATE POLICY "workspace" ON "member_pictures" AS PERMISSIVE FOR ALL TO "outrigger_app" USING ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid)) WITH CHECK ("tenant_id" = (select nullif(current_setting('outrigger.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "system" ON "member_pictures" AS PERMISSIVE FOR ALL TO "outrigger_system" USING (true) WITH CHECK (true);--> statement-breakpoint
-- Runs as the owner of the tables: a picture is deleted with its member and with its workspace. The sweep then removes the bytes.
CREATE FUNCTION note_unused_member_picture() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO chat_unused_blobs (blob_key, tenant_id, remove_at) VALUES (OLD.blob_key, OLD.tenant_id, now())
    ON CONFLICT (blob_key) DO UPDATE SET remove_at = excluded.remove_at;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER note_unused AFTER DELETE ON member_pictures FOR EACH ROW EXECUTE FUNCTION note_unused_member_picture();
