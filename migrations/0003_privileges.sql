GRANT USAGE ON SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO outrigger_app, outrigger_system;
--> statement-breakpoint
-- Tables and sequences of later migrations get the same privileges.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO outrigger_app, outrigger_system;
--> statement-breakpoint
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO outrigger_app, outrigger_system;
--> statement-breakpoint
-- Partitions are used only through their table and its policies.
REVOKE ALL ON run_steps_first, run_steps_default, run_logs_first, run_logs_default FROM outrigger_app, outrigger_system;
--> statement-breakpoint
REVOKE ALL ON rate_limits FROM outrigger_app;
--> statement-breakpoint
-- Written by triggers and by the system role only.
REVOKE INSERT, UPDATE, DELETE ON artifact_usage, chat_file_usage, chat_done_counts, hub_packs FROM outrigger_app;
--> statement-breakpoint
-- This view shows the accounts of all workspaces.
REVOKE ALL ON sip_subscriber FROM PUBLIC, outrigger_app, outrigger_system;
--> statement-breakpoint
-- PostgreSQL lets every role execute every function. A role with a table of its own could then fire the trigger functions that run as the
-- owner of the tables. Triggers need no privilege to fire; a function that is called by name is granted to its callers.
REVOKE EXECUTE ON FUNCTION count_artifact_usage, count_chat_file_usage, count_done_chats, log_approval_event, log_changed_runs, log_new_runs, log_new_steps,
  log_node_event, log_step_event, record_removed_workspaces, queue_sip_teardown, record_unused_chat_blobs, record_unused_member_picture, report_sip_call, call_json,
  publish_calls FROM PUBLIC;
--> statement-breakpoint
GRANT EXECUTE ON FUNCTION call_json TO outrigger_app, outrigger_system;
--> statement-breakpoint
-- Functions of later migrations are closed as well. The default privilege cannot be limited to one schema.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'outrigger_sip') THEN
    GRANT USAGE ON SCHEMA public TO outrigger_sip;
    GRANT SELECT ON sip_subscriber TO outrigger_sip;
    GRANT EXECUTE ON FUNCTION report_sip_call TO outrigger_sip;
  END IF;
END
$$;
--> statement-breakpoint
-- Only the owner creates tables here. The system role may create temporary tables: the hub uses one to check whether the disk is full.
DO $$
DECLARE
  database pg_database;
  is_open boolean;
BEGIN
  SELECT * INTO database FROM pg_database WHERE datname = current_database();
  SELECT EXISTS (SELECT FROM aclexplode(coalesce(database.datacl, acldefault('d', database.datdba))) WHERE grantee = 0 AND privilege_type = 'TEMPORARY') INTO is_open;
  IF pg_has_role(database.datdba, 'USAGE') THEN
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO outrigger_system', database.datname);
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', database.datname);
  ELSIF is_open THEN
    RAISE WARNING 'Every role that can connect to the database can create temporary tables in it, the SIP server too. Have the owner of the database run: REVOKE TEMPORARY ON DATABASE % FROM PUBLIC', quote_ident(database.datname);
  END IF;
  SELECT EXISTS (SELECT FROM pg_namespace n, aclexplode(n.nspacl) WHERE n.nspname = 'public' AND grantee = 0 AND privilege_type = 'CREATE') INTO is_open;
  IF is_open AND pg_has_role((SELECT nspowner FROM pg_namespace WHERE nspname = 'public'), 'USAGE') THEN
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  ELSIF is_open THEN
    RAISE WARNING 'Every role that can connect to the database can create tables in its schema public. Have the owner of the schema run: REVOKE CREATE ON SCHEMA public FROM PUBLIC';
  END IF;
END
$$;
