-- A visitor belongs to the environment of its conversations. A visitor that has both kinds is a live visitor; 0099 gives its test conversations a test visitor.
ALTER TABLE "chat_visitors" ADD COLUMN "environment" text DEFAULT 'live' NOT NULL;
--> statement-breakpoint
UPDATE "chat_visitors" v SET "environment" = 'test'
WHERE EXISTS (SELECT FROM "chat_conversations" c WHERE c."visitor_id" = v."id" AND c."environment" = 'test')
  AND NOT EXISTS (SELECT FROM "chat_conversations" c WHERE c."visitor_id" = v."id" AND c."environment" = 'live');
