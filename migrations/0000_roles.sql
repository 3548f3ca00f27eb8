-- Roles belong to the whole cluster, which several databases may share: each role is created once, by the first database.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY ARRAY['outrigger_app', 'outrigger_system'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', role_name);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
    BEGIN
      EXECUTE format('GRANT %I TO CURRENT_USER', role_name);
    EXCEPTION WHEN unique_violation OR duplicate_object THEN
      NULL;
    END;
  END LOOP;
END
$$;
--> statement-breakpoint
-- The operator's SIP server signs in as a member of this role. When the hub may not create roles, the operator creates it.
DO $$
BEGIN
  CREATE ROLE outrigger_sip NOLOGIN NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
  NULL;
END
$$;
