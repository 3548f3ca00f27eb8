-- Tells a worker whether it wrote an intent itself (the answer to its commit was lost) or another worker did.
ALTER TABLE "effects" ADD COLUMN "declaration_id" uuid;
