SELECT json_build_object('id', r.ev_class::int8, 'query', r.ev_action::text)::text
FROM pg_rewrite r WHERE r.ev_type = '1' AND r.ev_class = ANY($1::text[]::oid[])
