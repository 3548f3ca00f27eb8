-- Roles belong to the whole cluster, and several databases may share one: make them once, whoever comes first.
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
