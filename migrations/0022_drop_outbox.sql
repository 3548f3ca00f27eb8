DROP TABLE "outbox";
