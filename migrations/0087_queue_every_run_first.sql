-- A run that a worker begins as it is accepted is written as running. Its history begins with queued all the same, in the same statement.
CREATE OR REPLACE FUNCTION log_new_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO public.workspace_events (tenant_id, type, data) SELECT tenant_id, 'run', jsonb_build_object(
    'id', id, 'workflowId', workflow_id, 'status', shown.status, 'errorCode', error->>'code',
    'startedAt', CASE WHEN shown.status <> 'queued' THEN to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END,
    'finishedAt', to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  FROM added CROSS JOIN LATERAL unnest(CASE added.status WHEN 'queued' THEN ARRAY['queued'] ELSE ARRAY['queued', added.status] END) WITH ORDINALITY AS shown (status, place)
  ORDER BY id, shown.place;
  RETURN NULL;
END $$;
