GRANT USAGE ON SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO outrigger_app, outrigger_system;
--> statement-breakpoint
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO outrigger_app, outrigger_system;
--> statement-breakpoint
-- Counters of the current window only: losing them in a crash costs nothing, so they are kept out of the write-ahead log.
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  window_start timestamptz NOT NULL,
  count integer NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
REVOKE ALL ON rate_limits FROM outrigger_app;
--> statement-breakpoint
-- Both are small tables with a great turnover.
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
--> statement-breakpoint
ALTER TABLE runs SET (fillfactor = 80);
