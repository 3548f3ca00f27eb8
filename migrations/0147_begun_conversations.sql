-- Conversations of earlier versions count as begun.
ALTER TABLE "chat_conversations" ADD COLUMN "has_begun" boolean DEFAULT true NOT NULL;
