UPDATE api_tokens k SET created_by = a.actor FROM audit_log a
  WHERE a.tenant_id = k.tenant_id AND a.target_type = 'token' AND a.target_id = k.id::text AND a.action = 'token.created';
