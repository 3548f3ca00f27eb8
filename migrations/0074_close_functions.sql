-- PostgreSQL lets everybody execute what functions there are: whoever makes a table of their own can have it fire those that run as who owns the tables.
-- No trigger needs the right to fire them; what is called by name is granted to who calls it.
REVOKE EXECUTE ON FUNCTION count_artifact_room, count_chat_file_room, count_done_chats, log_approval_event, log_changed_runs, log_new_runs, log_new_steps,
  log_node_event, log_step_event, note_removed_workspaces, note_sip_farewell, note_unused_chat_blobs, shown_call, tell_calls FROM PUBLIC;
--> statement-breakpoint
GRANT EXECUTE ON FUNCTION shown_call TO outrigger_app, outrigger_system;
--> statement-breakpoint
-- Those to come as well. Of one schema alone this would change nothing.
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
--> statement-breakpoint
-- Nor may everybody make tables here, where the hub may say so. Its own role for that finds out by one whether the disk is full.
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
    RAISE WARNING 'Everybody who may sign in to the database may make temporary tables in it, the SIP server too; let its owner run: REVOKE TEMPORARY ON DATABASE % FROM PUBLIC', quote_ident(database.datname);
  END IF;
  SELECT EXISTS (SELECT FROM pg_namespace n, aclexplode(n.nspacl) WHERE n.nspname = 'public' AND grantee = 0 AND privilege_type = 'CREATE') INTO is_open;
  IF is_open AND pg_has_role((SELECT nspowner FROM pg_namespace WHERE nspname = 'public'), 'USAGE') THEN
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  ELSIF is_open THEN
    RAISE WARNING 'Everybody who may sign in to the database may make tables in its schema public; let the owner of the schema run: REVOKE CREATE ON SCHEMA public FROM PUBLIC';
  END IF;
END
$$;
