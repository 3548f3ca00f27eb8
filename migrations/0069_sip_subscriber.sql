-- The operator's SIP server signs in as a member of this role. Roles belong to the whole cluster: whoever comes first makes it. Where the hub may make none, its operator does, and grants it the view.
DO $$
BEGIN
  CREATE ROLE outrigger_sip NOLOGIN NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
  NULL;
END
$$;
--> statement-breakpoint
CREATE VIEW sip_subscriber WITH (security_barrier) AS
  SELECT h.username, h.domain, h.ha1 FROM hosted_sip h JOIN tenants t ON t.id = h.tenant_id
  WHERE h.ha1 IS NOT NULL AND t.entitlements ->> 'business_calling' = 'true';
--> statement-breakpoint
-- It shows the accounts of all workspaces, and what is granted by default is granted for views too.
REVOKE ALL ON sip_subscriber FROM PUBLIC, outrigger_app, outrigger_system;
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'outrigger_sip') THEN
    GRANT USAGE ON SCHEMA public TO outrigger_sip;
    GRANT SELECT ON sip_subscriber TO outrigger_sip;
  END IF;
END
$$;
