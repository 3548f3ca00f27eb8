-- Gives the test conversations of live visitors a test visitor of the same external id. Its id is derived from that of the live visitor.
INSERT INTO "chat_visitors" ("id", "tenant_id", "external_id", "display_name", "email", "phone", "attributes", "last_seen_at", "last_address", "blocked_at", "erased_at", "created_at", "updated_at", "environment")
SELECT md5(v."id"::text || ':test')::uuid, v."tenant_id", v."external_id", v."display_name", v."email", v."phone", v."attributes", v."last_seen_at", v."last_address", v."blocked_at", v."erased_at", v."created_at", v."updated_at", 'test'
FROM "chat_visitors" v
WHERE v."environment" = 'live' AND EXISTS (SELECT FROM "chat_conversations" c WHERE c."visitor_id" = v."id" AND c."environment" = 'test');
--> statement-breakpoint
UPDATE "chat_conversations" c SET "visitor_id" = md5(v."id"::text || ':test')::uuid FROM "chat_visitors" v
WHERE c."environment" = 'test' AND v."id" = c."visitor_id" AND v."environment" = 'live';
--> statement-breakpoint
UPDATE "chat_links" l SET "visitor_id" = c."visitor_id" FROM "chat_conversations" c
WHERE c."environment" = 'test' AND l."conversation_id" = c."id" AND l."visitor_id" <> c."visitor_id";
--> statement-breakpoint
UPDATE "chat_sessions" s SET "visitor_id" = c."visitor_id" FROM "chat_conversations" c
WHERE c."environment" = 'test' AND s."conversation_id" = c."id" AND s."visitor_id" <> c."visitor_id";
