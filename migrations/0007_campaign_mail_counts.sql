ALTER TABLE "campaigns" ADD COLUMN "mails_sending" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "mails_sent" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "mails_simulated" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "campaigns" ADD COLUMN "mails_failed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE "campaigns" c SET "mails_sending" = m.sending, "mails_sent" = m.sent, "mails_simulated" = m.simulated, "mails_failed" = m.failed FROM (
  SELECT "campaign_id", count(*) FILTER (WHERE "status" = 'sending') AS sending, count(*) FILTER (WHERE "status" = 'sent') AS sent,
    count(*) FILTER (WHERE "status" = 'simulated') AS simulated, count(*) FILTER (WHERE "status" = 'failed') AS failed
  FROM "campaign_mails" GROUP BY "campaign_id"
) m WHERE m."campaign_id" = c."id";