-- By this the operator's SIP server says what happens to calls of a workspace, and nothing else. All is hexadecimal: nothing that a phone says is ever part of a statement. Of a caller whose workspace is not known nothing is written.
CREATE FUNCTION report_sip_call(event text, call_id text, caller text, callee text, sip_code text, hangup_by text, mos text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO sip_reports (tenant_id, report)
  SELECT h.tenant_id, jsonb_strip_nulls(jsonb_build_object(
    'event', event,
    'at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'callId', convert_from(decode(call_id, 'hex'), 'UTF8'),
    'direction', 'outbound',
    'from', convert_from(decode(caller, 'hex'), 'UTF8'),
    'to', convert_from(decode(callee, 'hex'), 'UTF8'),
    'sipCode', nullif(convert_from(decode(sip_code, 'hex'), 'UTF8'), '')::integer,
    'hangupBy', nullif(convert_from(decode(hangup_by, 'hex'), 'UTF8'), ''),
    'mosScore', nullif(convert_from(decode(mos, 'hex'), 'UTF8'), '')::numeric))::text
  FROM hosted_sip h WHERE h.username = left(convert_from(decode(caller, 'hex'), 'UTF8'), 17)
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION report_sip_call FROM PUBLIC;
--> statement-breakpoint
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'outrigger_sip') THEN
    GRANT EXECUTE ON FUNCTION report_sip_call TO outrigger_sip;
  END IF;
END
$$;
