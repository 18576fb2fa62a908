SELECT json_build_object('id', k.conrelid::int8, 'name', k.conname, 'kind', k.contype, 'columns', k.conkey,
    'to', k.confrelid::int8, 'to_columns', k.confkey, 'on_delete', k.confdeltype,
    'rule', CASE WHEN k.contype = 'c' THEN pg_get_constraintdef(k.oid) END,
    'expression', CASE WHEN k.contype = 'c' THEN pg_get_expr(k.conbin, k.conrelid) END)::text
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1::text[]) AND NOT c.relispartition AND k.contype IN ('p', 'u', 'f', 'c', 'x')
ORDER BY k.conrelid, k.contype, k.conname
