-- What a process of an earlier version counts stays for the longest window at most.
ALTER TABLE rate_limits ADD COLUMN expires_at timestamptz NOT NULL DEFAULT now() + interval '1 hour';
--> statement-breakpoint
CREATE INDEX rate_limits_expiry ON rate_limits (expires_at);
