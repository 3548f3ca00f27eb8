-- The address of a mail channel's own choice becomes where answers go.
UPDATE channels SET config = (config - 'from') || jsonb_build_object('replyTo', config->'from') WHERE provider = 'email' AND config ? 'from';
